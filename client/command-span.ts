import { startTracing } from '../activities/tracing/tracing-adapter.ts';
import { toCliError } from './errors.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';

/** Milliseconds that a collector may take of a person's time at the end of a command. */
const patienceMs = 2_000;

/** Runs a command as the first span of a trace: everything that is done for it follows from here. */
export async function inCommandSpan(command: string, run: () => Promise<ExitCode>): Promise<ExitCode> {
  const tracing = startTracing({ service: 'vmflow-cli', exportMs: patienceMs, stopMs: patienceMs });
  try {
    return await tracing.root(`vmflow ${command}`, async (note) => {
      try {
        const exit = await run();
        note(exit, exit === exitCodes.ok.code ? undefined : String(exit));
        return exit;
      } catch (error) {
        const { exit, reason } = toCliError(error);
        note(exit, reason);
        throw error;
      }
    });
  } finally {
    await tracing.stop();
  }
}
