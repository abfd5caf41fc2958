import { pino } from 'pino';
import { censor, cleanText, isSecretName } from '../activities/history/redact.ts';

export type WorkerLog = ReturnType<typeof createLog>;

/** JSON lines on stderr, secrets cut out of messages, texts and fields, however deep. */
export function createLog(level: string, kind: string, to: pino.DestinationStream = stderr()) {
  return pino(
    {
      level,
      base: { worker: kind },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: (facts) => clean(facts, deepest) as Record<string, unknown> },
      hooks: {
        logMethod(args, method) {
          const [facts, ...texts] = args;
          const safe = [facts, ...texts].map((arg: unknown) => (typeof arg === 'string' ? cleanText(arg) : arg));
          method.apply(this, safe as typeof args);
        },
      },
    },
    to,
  );
}

const stderr = (): pino.DestinationStream => pino.destination({ dest: 2, sync: true });

/** What lies deeper is left out: an error may carry the whole of a connection with it. */
const deepest = 8;

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return '[…]';
  if (value instanceof Error) return clean({ ...pino.stdSerializers.err(value) }, depth);
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === 'function') return clean(Reflect.apply(toJSON, value, []), depth - 1);
  if (Array.isArray(value)) return value.map((part) => clean(part, depth - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, isSecretName(name) ? censor : clean(part, depth - 1)]),
  );
}
