import { cocoonKeys } from '../../../workflows/contracts/hibernate.ts';
import type { LifecycleState } from '../../../workflows/domain/hibernate/observation.ts';
import type { Faults, Place } from './faults.ts';
import { AgentGone, type Life } from './life.ts';
import { viewOf } from './pod-view.ts';
import type { PodWriter } from './pod-writer.ts';
import type { AgentSettings } from './settings.ts';
import type { Tracked } from './tracked.ts';

/** Writes the lifecycle of a Pod: state, message and the stamp that it is about, together. */
export interface LifecycleWriter {
  /** Never fails but by the agent's end: what can't be written is written later. A late `ready` after `failed` is dropped. */
  say(tracked: Tracked, state: LifecycleState, message?: string): Promise<void>;
  /** The same again, for the stamp as it is now. */
  repeat(tracked: Tracked): Promise<void>;
}

interface LifecycleDeps {
  readonly node: string;
  readonly life: Life;
  readonly faults: Faults;
  readonly settings: AgentSettings;
  readonly write: PodWriter;
}

/** How much later than the status a lifecycle is written that should precede it. */
const defaultLatenessMs = 60;

export function createLifecycleWriter({ node, life, faults, settings, write }: LifecycleDeps): LifecycleWriter {
  async function put(tracked: Tracked): Promise<void> {
    const { said } = tracked;
    if (said === undefined) return;
    let generation = 0;
    await write.annotate(tracked.pod, (object) => {
      generation = viewOf(object).stamp;
      return {
        [cocoonKeys.lifecycleState]: said.state,
        [cocoonKeys.lifecycleGeneration]: String(generation),
        [cocoonKeys.lifecycleMessage]: said.message === '' ? undefined : said.message,
      };
    });
    if (tracked.said === said) tracked.said = { ...said, generation };
  }

  function flushLater(tracked: Tracked): void {
    life.after(settings.lifecycleFlushMs, () => {
      put(tracked).catch((error: unknown) => {
        if (!(error instanceof AgentGone)) flushLater(tracked);
      });
    });
  }

  async function tryPut(tracked: Tracked): Promise<void> {
    for (let tries = 1; tries <= settings.writeTries; tries++) {
      try {
        await put(tracked);
        return;
      } catch (error) {
        if (error instanceof AgentGone) throw error;
        await life.spend(settings.writePauseMs);
      }
    }
    flushLater(tracked);
  }

  async function putWithFaults(tracked: Tracked): Promise<void> {
    const { pod } = tracked;
    const place: Place = { vm: pod.vmName, node, pod: pod.object.metadata.annotations ?? {} };
    if (faults.take('lifecycleLost', place) !== undefined) {
      flushLater(tracked);
      return;
    }
    const late = faults.take('lifecycleAfterStatus', place);
    if (late !== undefined) {
      const isDone = (): undefined => undefined;
      life.after(late.delayMs || defaultLatenessMs, () => void tryPut(tracked).catch(isDone));
      return;
    }
    const delay = faults.take('lifecycleDelay', place);
    if (delay !== undefined) await life.spend(delay.delayMs);
    await tryPut(tracked);
  }

  return {
    async say(tracked, state, message = '') {
      const { said, pod } = tracked;
      if (state === 'ready' && said?.state === 'failed' && said.generation >= pod.stamp) return;
      tracked.said = { state, message, generation: pod.stamp };
      await putWithFaults(tracked);
    },
    async repeat(tracked) {
      const { said, pod } = tracked;
      if (said === undefined) return;
      tracked.said = { ...said, generation: pod.stamp };
      await putWithFaults(tracked);
    },
  };
}
