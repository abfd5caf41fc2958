import { execFile } from 'node:child_process';
import { findTool } from './tool.ts';
import { tools } from './tools.ts';

/** Runs Prometheus' own tool; everything it says, and whether it was content. */
export async function promtool(
  ...args: readonly string[]
): Promise<{ readonly isGood: boolean; readonly text: string }> {
  const binary = await findTool(tools.promtool);
  return await new Promise((resolve) => {
    execFile(binary, args, (error, stdout, stderr) => resolve({ isGood: error === null, text: stdout + stderr }));
  });
}
