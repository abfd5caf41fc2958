import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Stack } from './stack.ts';

const cli = fileURLToPath(new URL('../../client/cli.ts', import.meta.url));

/** Heading of the next part of the story. */
export function say(text: string): void {
  console.log(`\n── ${text}`);
}

/** Runs the CLI as a person would, its output shown. */
export async function vmflow(
  stack: Stack,
  args: readonly string[],
  quiet = false,
): Promise<{ code: number; stdout: string }> {
  if (!quiet) console.log(`$ vmflow ${args.map((arg) => (/[ ']/.test(arg) ? `'${arg}'` : arg)).join(' ')}`);
  const child = spawn(process.execPath, [cli, ...args], {
    env: stack.env,
    stdio: ['ignore', 'pipe', quiet ? 'ignore' : 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    if (!quiet) process.stdout.write(chunk);
  });
  const code = await new Promise<number>((resolve) => child.once('close', (exit) => resolve(exit ?? 1)));
  return { code, stdout: Buffer.concat(chunks).toString() };
}

/** Fails the demo unless the command ends with this code. */
export async function mustEnd(stack: Stack, code: number, args: readonly string[]): Promise<string> {
  const ended = await vmflow(stack, args);
  if (ended.code !== code) throw new Error(`vmflow ${args.join(' ')} ended with exit code ${ended.code}, not ${code}`);
  return ended.stdout;
}

export async function mustSucceed(stack: Stack, args: readonly string[]): Promise<string> {
  return await mustEnd(stack, 0, args);
}
