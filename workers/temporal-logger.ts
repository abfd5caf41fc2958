import { DefaultLogger, type LogEntry } from '@temporalio/worker';
import type { WorkerLog } from './log.ts';

/** The SDK's log lines through ours. */
export function temporalLogger(log: WorkerLog): DefaultLogger {
  return new DefaultLogger('DEBUG', ({ level, message, meta }: LogEntry) =>
    log[pinoLevels[level]](meta ?? {}, message),
  );
}

const pinoLevels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
