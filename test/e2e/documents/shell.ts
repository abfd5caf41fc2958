import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import type { DevProcess } from '../../stack/dev-process.ts';

export interface Ended {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command as a person types it, but with no terminal. */
export function runInShell(
  text: string,
  where: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile('sh', ['-c', text], where, (error, stdout, stderr) => {
      resolve({ exit: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout, stderr });
    });
    child.stdin?.end();
  });
}

/** Paths are shown as `/tmp/…/NAME`: `npm run dev` says where that is. */
export function withPaths(text: string, { files, printed }: DevProcess): string {
  return text.replaceAll(/\/tmp\/…\/([\w.-]+)/g, (_, name: string) => {
    const path = files[name];
    assert.ok(path !== undefined, `npm run dev named no file ${name}:\n${printed}`);
    return path;
  });
}
