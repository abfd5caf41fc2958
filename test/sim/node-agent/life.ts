import { setTimeout as sleep } from 'node:timers/promises';

/** The process of the agent has ended: nothing more is done in its name. */
export class AgentGone extends Error {
  override readonly name = 'AgentGone';
}

/** One run of an agent's process. What it does asks this first, so that it can be killed or stopped at any moment. */
export interface Life {
  readonly isOver: boolean;
  /** Resolves at once, or when the agent is heard of again; fails when it was killed. */
  pass(): Promise<void>;
  /** Time that the agent spends. */
  spend(ms: number): Promise<void>;
  /** As SIGKILL. */
  end(): void;
  /** As SIGSTOP and SIGCONT. */
  hold(): void;
  release(): void;
  /** A timer that dies with the process. Returns how to cancel it. */
  after(ms: number, action: () => void): () => void;
}

export function createLife(): Life {
  const ended = new AbortController();
  let gate: { readonly opened: Promise<void>; open(): void } | undefined;

  async function pass(): Promise<void> {
    while (gate !== undefined && !ended.signal.aborted) await gate.opened;
    if (ended.signal.aborted) throw new AgentGone();
  }

  return {
    get isOver() {
      return ended.signal.aborted;
    },
    pass,
    async spend(ms) {
      await sleep(ms, undefined, { signal: ended.signal }).catch(() => undefined);
      await pass();
    },
    end() {
      ended.abort();
      gate?.open();
    },
    hold() {
      if (gate !== undefined) return;
      let open: () => void = () => undefined;
      const opened = new Promise<void>((resolve) => (open = resolve));
      gate = { opened, open };
    },
    release() {
      const held = gate;
      gate = undefined;
      held?.open();
    },
    after(ms, action) {
      const timer = setTimeout(() => {
        pass().then(action, () => undefined);
      }, ms);
      const cancel = (): void => clearTimeout(timer);
      ended.signal.addEventListener('abort', cancel, { once: true });
      return cancel;
    },
  };
}
