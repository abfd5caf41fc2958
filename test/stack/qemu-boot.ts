import { patienceMs } from '../support/wait-for.ts';
import { startProcess } from './processes.ts';
import { findTool } from './tool.ts';
import { tools } from './tools.ts';

/** Without accelerator, display or network: the same on every machine. */
const machine = ['-machine', 'pc,accel=tcg,graphics=off', '-m', '128', '-nodefaults', '-no-user-config', '-no-reboot'];

/** Boots a PC from a raw disk, which it doesn't change, until its first serial port has said the line; fails where it doesn't. */
export async function bootsWith(image: string, line: string): Promise<void> {
  const drive = `file=${image},format=raw,if=virtio,snapshot=on`;
  const pc = await startProcess({
    name: `a PC that boots from ${image}`,
    command: await findTool(tools.qemuSystem),
    args: [...machine, '-display', 'none', '-serial', 'stdio', '-drive', drive],
    ready: (output) => output.includes(line),
    readyWithinMs: patienceMs,
  });
  await pc.kill();
}
