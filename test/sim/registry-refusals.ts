import type { Rule, RuleHandle, When } from './proxy-rules.ts';
import { callOf } from './registry-calls.ts';
import type { RecordedRequest } from './request-log.ts';
import { agentUserAgent } from './node-agent/snapshots.ts';

export interface Refusal {
  readonly status: number;
  /** `errors[0].code` of the body. */
  readonly code: string;
}

interface Whom {
  /** Only this repository; default: all. */
  readonly repository?: string;
  /** Default `others`: agents are spared. */
  readonly whose?: 'others' | 'agents' | 'everybody';
  readonly times?: number;
}

/** What registries do that are broken, careful or slow. Each is in force until it is removed. */
export function refusals(
  refuse: (when: When, status: number, code?: string) => RuleHandle,
  addRule: (rule: Rule) => RuleHandle,
) {
  const meant = (method: string, { repository, whose = 'others', times = Infinity }: Whom): When => ({
    method,
    times,
    match: (request) =>
      (repository === undefined || callOf(request.verb, request.path).repository === repository) &&
      (whose === 'everybody' || isAgents(request) === (whose === 'agents')),
  });
  /** Until it is removed: calls that wait then are passed on, unless their client is gone. */
  function hang(when: When): RuleHandle {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const handle = addRule({ ...when, action: 'hold', at: 'call', pass: () => gate });
    return {
      fired: () => handle.fired(),
      remove() {
        handle.remove();
        open();
      },
    };
  }
  return {
    /** R1: reads fail. */
    readsFail: (whom: Whom = {}, status = 503): RuleHandle => {
      const handles = ['get', 'head'].map((method) => refuse(meant(method, whom), status));
      return together(handles);
    },
    /** R1: reads get no answer before the client gives up. */
    readsHang: (whom: Whom = {}): RuleHandle =>
      together(['get manifests', 'head manifests', 'get base'].map((method) => hang(meant(method, whom)))),
    /** R2: nobody may delete. */
    deleteForbidden: (whom: Whom = {}): RuleHandle => refuse(meant('delete', whom), 403, 'DENIED'),
    /** R3: deletion isn't supported. */
    deleteUnsupported: (whom: Whom = {}): RuleHandle => refuse(meant('delete', whom), 405, 'UNSUPPORTED'),
    /** R4: what is there is denied. `proven`: in the words that mean that it is really absent. */
    denied: (whom: Whom = {}, proven = false): RuleHandle =>
      refuse(meant('get manifests', whom), 404, proven ? 'MANIFEST_UNKNOWN' : 'NOT_FOUND'),
    /** R5: every call takes that much longer. */
    slow: (delayMs: number, whom: Whom = {}): RuleHandle => addRule({ ...meant('*', whom), action: 'delay', delayMs }),
  };
}

function isAgents({ headers }: RecordedRequest): boolean {
  return headers['user-agent'] === agentUserAgent;
}

function together(handles: readonly RuleHandle[]): RuleHandle {
  return {
    fired: () => handles.reduce((sum, handle) => sum + handle.fired(), 0),
    remove: () => handles.forEach((handle) => handle.remove()),
  };
}
