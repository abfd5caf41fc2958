import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { configSchema } from '../../activities/schemas/config.ts';
import { CliError, usageError } from '../errors.ts';
import type { Session } from '../session.ts';

/** Where the record of the bridge is; `why` says why there is none. */
export type RecordFiles =
  { readonly paths: readonly [string, ...string[]] } | { readonly paths: readonly []; readonly why: string };

/** From `--file`, else from the configuration that workers and bridge read here. */
export async function recordFiles(session: Session, named: readonly string[] | undefined): Promise<RecordFiles> {
  const { cwd } = session.runtime;
  const [first, ...more] = (named ?? []).map((path) => resolve(cwd, path));
  if (first !== undefined) {
    for (const path of [first, ...more]) if (!(await isThere(path))) throw missing(path);
    return { paths: [first, ...more] };
  }
  const config = await configured(session);
  if (config.file === undefined) return { paths: [], why: config.why };
  const path = resolve(cwd, config.file);
  if (await isThere(path)) return { paths: [path] };
  return { paths: [], why: `${path} isn't here: run this where the bridge runs, or name a copy with --file` };
}

type Configured = { readonly file: string } | { readonly file?: undefined; readonly why: string };

async function configured({ runtime }: Session): Promise<Configured> {
  const named = runtime.env.VMFLOW_CONFIG;
  const path = resolve(runtime.cwd, named ?? 'vmflow.yaml');
  let text: string;
  try {
    text = await runtime.readText(path);
  } catch (error) {
    if (named === undefined) return { why: 'there is no vmflow.yaml here: name the record of the bridge with --file' };
    throw unreadable(path, error);
  }
  const { parse } = await import('yaml');
  try {
    const { history } = configSchema.parse(parse(text) ?? {});
    return history ?? { why: `${path} names no history.file: nothing is kept beyond retention` };
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

function missing(path: string): CliError {
  return new CliError({
    exit: 'notFound',
    reason: 'RECORD_NOT_FOUND',
    message: `can't read the record ${path}: there is no such file`,
    state: 'nothing was exported',
    next: 'give the history.file of the bridge, or leave --file out for what Temporal still has',
  });
}

function unreadable(path: string, error: unknown): CliError {
  return usageError(
    `can't read where the record is from ${path}: ${error instanceof Error ? error.message : String(error)}`,
    'set VMFLOW_CONFIG to the vmflow.yaml of the bridge, or name the record with --file',
    'CONFIGURATION',
  );
}
