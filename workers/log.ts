import { DefaultLogger, type LogEntry } from '@temporalio/worker';
import { pino } from 'pino';

/** Fields that never reach a log line, at any of the depths we log. */
const secretFields = ['password', 'cookie', 'authorization', 'token', 'url', 'apiKey'];

export type WorkerLog = ReturnType<typeof createLog>;

/** JSON lines on stderr, secrets cut out. */
export function createLog(level: string, kind: string) {
  const paths = secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);
  return pino(
    {
      level,
      base: { worker: kind },
      redact: { paths, censor: '[redacted]' },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    pino.destination({ dest: 2, sync: true }),
  );
}

/** The SDK's log lines through ours. */
export function temporalLogger(log: WorkerLog): DefaultLogger {
  return new DefaultLogger('DEBUG', ({ level, message, meta }: LogEntry) =>
    log[pinoLevels[level]](meta ?? {}, message),
  );
}

const pinoLevels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
