import { usageError } from './errors.ts';
import { omit } from './objects.ts';
import type { Session } from './session.ts';

/** A file that somebody has named. */
export interface NamedText {
  readonly text: string;
  /** How people call it. */
  readonly shown: string;
}

/** Reads a file; `-`: standard input. */
export async function readNamed(session: Session, path: string | undefined): Promise<NamedText> {
  if (path === undefined) throw usageError('which file? give -f FILE, or -f - for standard input');
  const shown = path === '-' ? 'standard input' : path;
  const text = await session.runtime.readText(path).catch((error: unknown) => {
    throw usageError(
      `can't read ${shown}: ${error instanceof Error ? error.message : String(error)}`,
      undefined,
      'FILE',
    );
  });
  return { text, shown };
}

/** Reads a YAML or JSON file (`-`: standard input) as one mapping. Errors name the file, line and column. */
export async function readDocument(session: Session, path: string): Promise<Record<string, unknown>> {
  const { text, shown } = await readNamed(session, path);
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text, { merge: true });
  const [problem] = document.errors;
  if (problem !== undefined) throw usageError(`${shown}: ${problem.message}`, undefined, 'FILE');
  const value: unknown = document.toJS();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw usageError(`${shown}: one mapping is expected, for example "vcenter: vc1"`, undefined, 'FILE');
  }
  // The envelope that `-o yaml` prints may stay in the file.
  return omit(value as Record<string, unknown>, 'apiVersion', 'kind');
}
