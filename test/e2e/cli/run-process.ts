import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const cli = fileURLToPath(new URL('../../../client/cli.ts', import.meta.url));

export interface ProcessResult {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line as a process of its own, as people run it; nothing of the caller's Temporal settings gets in. */
export function vmflow(env: Readonly<Record<string, string>>, ...argv: readonly string[]): Promise<ProcessResult> {
  const path = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', TZ: 'UTC', VMFLOW_USER: 'op' };
  return new Promise((resolve) => {
    execFile(process.execPath, [cli, ...argv], { env: { ...path, ...env } }, (error, stdout, stderr) => {
      const exit = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ exit, stdout, stderr });
    });
  });
}
