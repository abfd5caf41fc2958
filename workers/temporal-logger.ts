import { DefaultLogger, type LogEntry } from '@temporalio/worker';
import type { WorkerLog } from './log.ts';

/** The SDK's log lines through ours. `onCode` hears of each that has one of Temporal's codes (`TMPRL1103`). */
export function temporalLogger(log: WorkerLog, onCode: (code: string) => void): DefaultLogger {
  return new DefaultLogger('DEBUG', ({ level, message, meta }: LogEntry) => {
    log[pinoLevels[level]](meta ?? {}, message);
    const code = /\bTMPRL\d{4}\b/.exec(message)?.[0];
    if (code !== undefined) onCode(code);
  });
}

const pinoLevels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
