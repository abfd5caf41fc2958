import { pino } from 'pino';
import { secretFields } from '../activities/history/redact.ts';

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
      // The SDK tells failures under this key; without it their messages were left out.
      serializers: { error: pino.stdSerializers.err },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
