import type { Gateway } from './gateway.ts';

export interface TraceOptions {
  readonly write: (line: string) => void;
  readonly now: () => Date;
  /** Durations and outcomes too (`--debug`); else only what is done (`--verbose`). */
  readonly withTimes: boolean;
}

/** The same gateway, telling what it is asked. Arguments are named, never shown whole: bodies may hold what shouldn't be logged. */
export function traced(gateway: Gateway, options: TraceOptions): Gateway {
  return new Proxy(gateway, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== 'function' || typeof property !== 'string' || property === 'close') return member;
      return (...args: unknown[]) =>
        call(property, args, () => member.apply(target, args) as Promise<unknown>, options);
    },
  });
}

async function call(
  name: string,
  args: readonly unknown[],
  run: () => Promise<unknown>,
  { write, now, withTimes }: TraceOptions,
): Promise<unknown> {
  const what = `temporal: ${[name, ...args.flatMap(subjectOf)].join(' ')}`;
  if (!withTimes) {
    write(what);
    return run();
  }
  const started = now().getTime();
  const end = (outcome: string): void => write(`${what}: ${outcome} after ${String(now().getTime() - started)} ms`);
  try {
    const answer = await run();
    end('ok');
    return answer;
  } catch (error) {
    end(error instanceof Error && 'reason' in error ? String(error.reason) : 'failed');
    throw error;
  }
}

/** The names in an argument that say what a call is about. */
function subjectOf(argument: unknown): string[] {
  if (typeof argument === 'string') return [argument];
  if (typeof argument !== 'object' || argument === null) return [];
  const named = argument as { workflowId?: unknown; name?: unknown; what?: unknown };
  return [named.workflowId, named.name, named.what].filter((value): value is string => typeof value === 'string');
}
