import { parentPort } from 'node:worker_threads';
import { ProgramError } from './program-error.ts';
import type { ProgramCall, ThreadMessage } from './protocol.ts';
import { loadInterpreter } from './quickjs-adapter.ts';

/** The thread of placement programs: one call after the other, until one breaks it. */
const interpreter = await loadInterpreter();

function tell(message: ThreadMessage): void {
  parentPort?.postMessage(message);
}

function run(call: ProgramCall): ThreadMessage {
  try {
    return { kind: 'done', result: interpreter.run(call) };
  } catch (err) {
    if (err instanceof ProgramError) return { kind: 'failed', problem: err.problem };
    return { kind: 'broken', message: err instanceof Error ? err.message : String(err) };
  }
}

parentPort?.on('message', (call: ProgramCall) => {
  tell({ kind: 'begun' });
  tell(run(call));
});
tell({ kind: 'ready' });
