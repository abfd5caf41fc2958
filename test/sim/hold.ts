import type { Rule, RuleTable, When } from './proxy-rules.ts';
import type { RecordedRequest } from './request-log.ts';

/** A call that waits in the proxy. */
export interface Hold {
  /** Resolves when such a call has arrived. */
  readonly arrived: Promise<RecordedRequest>;
  /** Lets pass what is held; later ones are not held any more. */
  release(): void;
}

/** Holds the next matching call, or as many as `times` says, until it is released. */
export function holdNext(rules: RuleTable<Rule>, when: When, at: 'call' | 'answer'): Hold {
  let arrive: (request: RecordedRequest) => void = () => undefined;
  let open: () => void = () => undefined;
  const arrived = new Promise<RecordedRequest>((resolve) => (arrive = resolve));
  const gate = new Promise<void>((resolve) => (open = resolve));
  const pass = (request: RecordedRequest): Promise<void> => {
    arrive(request);
    return gate;
  };
  const rule = rules.add({ ...when, action: 'hold', at, pass });
  return {
    arrived,
    release() {
      rule.remove();
      open();
    },
  };
}
