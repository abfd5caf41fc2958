import { z } from 'zod';
import type { FieldProblem } from '../../workflows/contracts/failures.ts';
import type { BatchSpec, MigrationWindow } from '../../workflows/domain/batch/records.ts';
import { count, name } from './batch-fields.ts';
import { batchShape } from './batch.ts';
import { durationText } from './durations.ts';
import { parsePath, pathText } from './spec-path.ts';
import { checkSpec, type FoundMistake } from './spec-problems.ts';
import { readYaml, type PlacedYaml, type TextPlace } from './yaml-places.ts';
import { parseZonedTime, type ZonedTime } from './zoned-time.ts';

/** A mistake in a batch file. Lines and columns are from 1. */
export interface FileProblem extends TextPlace {
  /** Such as `constraints[1].include_expression`; empty: the file as a whole. */
  readonly path: string;
  readonly message: string;
}

/** A window's times as they were written. */
export type WrittenWindow = Readonly<Partial<Record<'start' | 'end' | 'lockout', ZonedTime>>>;

export interface BatchFile {
  readonly spec: BatchSpec;
  /** By name of the window. */
  readonly written: Readonly<Record<string, WrittenWindow>>;
  /** The file itself says where its VMs go unless a rule says otherwise. */
  readonly namesTarget: boolean;
  /** Where in the file a mistake is that was found in the batch. */
  readonly locate: (problem: FieldProblem) => FileProblem;
}

/** `name`: what the file calls its batch, where it does. */
export type BatchFileResult = BatchFile | { readonly problems: readonly FileProblem[]; readonly name?: string };

const zonedTime = z.string().transform((text, context): ZonedTime => {
  const time = parseZonedTime(text.trim());
  if (!('problem' in time)) return time;
  context.addIssue({ code: 'custom', message: time.problem });
  return z.NEVER;
});

const writtenWindow = z.strictObject({
  name,
  start: zonedTime.exactOptional(),
  end: zonedTime.exactOptional(),
  lockout: zonedTime.exactOptional(),
  config: z.strictObject({ capacity: count.default(0) }).prefault({}),
});

const windowOfFile = writtenWindow.transform(({ name, start, end, lockout, config }): MigrationWindow => ({
  name,
  ...(start === undefined ? {} : { start: start.utc }),
  ...(end === undefined ? {} : { end: end.utc }),
  ...(lockout === undefined ? {} : { lockout: lockout.utc }),
  capacity: config.capacity,
}));

/** What may stand in a batch file, with what stands for what is left out. Its output is a complete batch. */
export const batchFileSchema = batchShape({
  duration: durationText,
  window: windowOfFile,
  or: (schema, value) => schema.default(value as never),
  part: (schema) => schema.prefault({}),
});

/**
 * Reads a batch file (YAML). Mistakes come all at once, each with its line. A window that is over is one of them, unless the batch
 * had it before, just so.
 */
export function parseBatchFile(text: string, now: Date, previous?: BatchSpec): BatchFileResult {
  const yaml = readYaml(text);
  if ('problem' in yaml) return { problems: [{ path: '', message: yaml.problem, ...yaml.place }] };
  const content = withoutEnvelope(yaml.value);
  if (content === undefined) {
    const message = 'one mapping is expected, for example "name: night-1"';
    return { problems: [{ path: '', message, line: 1, column: 1 }] };
  }
  const checked = checkSpec(content, batchFileSchema, now.getTime(), previous);
  if ('mistakes' in checked) {
    const { name } = content;
    const problems = inOrder(checked.mistakes.map((mistake) => placed(yaml, mistake)));
    return { problems, ...(typeof name === 'string' ? { name } : {}) };
  }
  return {
    spec: checked.spec,
    written: writtenWindows(content),
    namesTarget: namesTarget(content),
    locate: (problem) => located(yaml, problem),
  };
}

/** The envelope that `-o yaml` prints may stay in the file. */
function withoutEnvelope(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'apiVersion' && key !== 'kind'));
}

function placed(yaml: PlacedYaml, { path, message, isKey = false }: FoundMistake): FileProblem {
  return { path: pathText(path), message, ...yaml.place(path, isKey) };
}

function located(yaml: PlacedYaml, { path: text, message, line, column }: FieldProblem): FileProblem {
  const path = parsePath(text);
  const isInside = line !== undefined && column !== undefined;
  const place = isInside ? yaml.placeInside(path, { line, column }) : yaml.place(path);
  return { path: text, message, ...place };
}

function inOrder(problems: readonly FileProblem[]): FileProblem[] {
  return [...problems].sort((a, b) => a.line - b.line || a.column - b.column);
}

function writtenWindows(content: Record<string, unknown>): Readonly<Record<string, WrittenWindow>> {
  const windows = z.array(writtenWindow).catch([]).parse(content['migration_windows']);
  return Object.fromEntries(windows.map(({ name, start, end, lockout }) => [name, defined({ start, end, lockout })]));
}

function defined(times: { readonly [K in keyof WrittenWindow]: ZonedTime | undefined }): WrittenWindow {
  return Object.fromEntries(Object.entries(times).filter(([, time]) => time !== undefined));
}

const withTarget = z.looseObject({
  defaults: z.looseObject({ placement: z.looseObject({ target: z.string() }) }),
});

function namesTarget(content: Record<string, unknown>): boolean {
  return withTarget.safeParse(content).success;
}
