import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { publishedKinds } from '../../support/cli-documents.ts';

export const cliEntry = fileURLToPath(new URL('../../../client/cli.ts', import.meta.url));

export interface ProcessResult {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Variables for a process of the command line; nothing of the caller's Temporal settings gets in. */
export function cliEnvironment(more: Readonly<Record<string, string>>): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', TZ: 'UTC', VMFLOW_USER: 'op', ...more };
}

/** The command line as a process of its own, as people run it. Fails when what it prints with `-o json` is not as published. */
export async function vmflow(
  env: Readonly<Record<string, string>>,
  ...argv: readonly string[]
): Promise<ProcessResult> {
  const result = await ran(env, argv);
  publishedKinds(argv, result);
  return result;
}

function ran(env: Readonly<Record<string, string>>, argv: readonly string[]): Promise<ProcessResult> {
  return new Promise((resolve) => {
    execFile(process.execPath, [cliEntry, ...argv], { env: cliEnvironment(env) }, (error, stdout, stderr) => {
      const exit = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ exit, stdout, stderr });
    });
  });
}
