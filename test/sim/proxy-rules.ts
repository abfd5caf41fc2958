import type { RecordedRequest } from './request-log.ts';

/** Which requests a rule is for, and from which on and how often it fires. */
export interface When {
  /** Name as in `WireName.method`, e.g. `Rename_Task`; `*` for any. */
  readonly method: string;
  readonly match?: (request: RecordedRequest) => boolean;
  /** The first matching request it fires for, from 1 (default). */
  readonly nth?: number;
  /** For how many matching requests it then fires; default 1, `Infinity` for ever. */
  readonly times?: number;
}

export type Action =
  /** Answered with this vim25 fault; the simulator never sees the call. `fields` is raw XML. */
  | { readonly action: 'fault'; readonly fault: string; readonly fields?: string; readonly message?: string }
  /** Passed on after a while, unless the client is gone by then. */
  | { readonly action: 'delay'; readonly delayMs: number }
  /** The connection breaks; the simulator never sees the call. */
  | { readonly action: 'drop-before' }
  /** The simulator carries the call out; the connection breaks instead of the answer. */
  | { readonly action: 'drop-after' }
  /** An HTTP error (default 503) without a SOAP body; the simulator never sees the call. */
  | { readonly action: 'http-503'; readonly status?: number }
  /** Carried out; half of the answer arrives, then the connection breaks. */
  | { readonly action: 'truncate' }
  /** Carried out; the answer is changed. */
  | { readonly action: 'rewrite'; readonly rewrite: (answer: string, request: RecordedRequest) => string }
  /** Waits for the gate, before the call is passed on or before its answer is. */
  | {
      readonly action: 'hold';
      readonly at: 'call' | 'answer';
      readonly pass: (request: RecordedRequest) => Promise<void>;
    };

export type Rule = When & Action;

export interface RuleHandle {
  /** How often it has fired. */
  fired(): number;
  remove(): void;
}

/** The rules in force, in the order they were added. */
export class RuleTable<R extends Omit<When, 'method'>> {
  readonly #matches: (rule: R, request: RecordedRequest) => boolean;
  readonly #entries = new Set<{ readonly rule: R; matched: number; fired: number }>();

  constructor(matches: (rule: R, request: RecordedRequest) => boolean) {
    this.#matches = matches;
  }

  add(rule: R): RuleHandle {
    const entry = { rule, matched: 0, fired: 0 };
    this.#entries.add(entry);
    return { fired: () => entry.fired, remove: () => void this.#entries.delete(entry) };
  }

  clear(): void {
    this.#entries.clear();
  }

  /** All rules that fire for this request; each matching one counts it. */
  fire(request: RecordedRequest): R[] {
    const fired: R[] = [];
    for (const entry of this.#entries) {
      if (!this.#matches(entry.rule, request) || entry.rule.match?.(request) === false) continue;
      entry.matched += 1;
      const { nth = 1, times = 1 } = entry.rule;
      if (entry.matched < nth || entry.fired >= times) continue;
      entry.fired += 1;
      fired.push(entry.rule);
    }
    return fired;
  }
}

export function matchesMethod(rule: Rule, request: RecordedRequest): boolean {
  return rule.method === '*' || rule.method === request.method;
}
