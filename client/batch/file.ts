import type { BatchFile, FileProblem } from '../../activities/schemas/batch-file.ts';
import type { BatchSpecAnswer } from '../../workflows/contracts/batch.ts';
import type { FieldProblem } from '../../workflows/contracts/failures.ts';
import { batchId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { isApiName } from '../../workflows/domain/batch/effective.ts';
import { fieldProblems } from '../causes.ts';
import { readNamed, type NamedText } from '../documents.ts';
import { CliError } from '../errors.ts';
import type { Session } from '../session.ts';
import { ask } from '../status-query.ts';

export interface FileFlags {
  readonly file?: string;
  readonly dryRun?: boolean;
}

/** A batch file that was read, complete. */
export interface ReadBatch extends BatchFile {
  /** How people call the file. */
  readonly shown: string;
  /** As it is written in a command. */
  readonly path: string;
}

/** Reads a batch file. Exit 2 with every mistake and its line when it can't be taken. */
export async function readBatch(session: Session, path: string | undefined): Promise<ReadBatch> {
  const named = await readNamed(session, path);
  const file = await parsed(session, named);
  const spec = file.namesTarget ? file.spec : await withFirstTarget(session, file.spec);
  return { ...file, spec, shown: named.shown, path: path ?? '-' };
}

async function parsed(session: Session, { text, shown }: NamedText): Promise<BatchFile> {
  const { parseBatchFile } = await import('../../activities/schemas/batch-file.ts');
  const now = session.runtime.now();
  const alone = parseBatchFile(text, now);
  if (!('problems' in alone)) return alone;
  // A window that is over may stay in a batch that had it before.
  const previous = alone.name === undefined ? undefined : await knownSpec(session, alone.name);
  const result = previous === undefined ? alone : parseBatchFile(text, now, previous);
  if (!('problems' in result)) return result;
  throw badFile(shown, result.problems);
}

async function knownSpec(session: Session, name: string): Promise<BatchFile['spec'] | undefined> {
  if (!isApiName(name)) return undefined;
  try {
    return (await ask<BatchSpecAnswer>(session, { workflowId: batchId(name) }, messages.spec))?.spec;
  } catch (error) {
    // What is wrong with the file is said also where nobody can be asked.
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

/** A file that doesn't say where to is for the first target that the workers know. */
async function withFirstTarget(session: Session, spec: BatchFile['spec']): Promise<BatchFile['spec']> {
  const { answer } = await (await session.gateway()).lookup({ what: 'endpoints' });
  const target = answer.endpoints.find(({ kind }) => kind === 'target')?.name.replace(/^target\//, '');
  if (target === undefined) return spec;
  session.note(`the file names no target: it is taken to be for ${target}`);
  const { defaults } = spec;
  return { ...spec, defaults: { ...defaults, placement: { ...defaults.placement, target } } };
}

function badFile(shown: string, problems: readonly FileProblem[], cause?: unknown): CliError {
  const count = problems.length === 1 ? 'is a mistake' : `are ${String(problems.length)} mistakes`;
  return new CliError({
    exit: 'usage',
    reason: 'BATCH_FILE',
    message: `${shown} can't be taken: there ${count} in it`,
    why: problems.map((problem) => problemLine(shown, problem)).join('\n'),
    state: 'nothing was started or changed',
    cause,
  });
}

/** As editors and compilers write places, so that they can be jumped to. */
function problemLine(shown: string, { line, column, path, message }: FileProblem): string {
  const at = `${shown}:${String(line)}:${String(column)}`;
  return path === '' ? `${at}  ${message}` : `${at}  ${path}: ${message}`;
}

/** Mistakes that the workers have found, each with its line. */
export function mistakesIn({ shown, locate }: ReadBatch, problems: readonly FieldProblem[]): CliError {
  return badFile(shown, problems.map(locate));
}

/** What a workflow refused about the batch, with the lines of the file where it names fields. */
export function withLines({ shown, locate }: ReadBatch, error: unknown): unknown {
  if (!(error instanceof CliError)) return error;
  const problems = fieldProblems(error.cause);
  if (problems.length === 0) return error;
  return badFile(shown, problems.map(locate), error.cause).with({ exit: error.exit, reason: error.reason });
}
