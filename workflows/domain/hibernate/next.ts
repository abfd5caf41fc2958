import { after, elapsedMs } from '../time.ts';
import type { PodFacts } from './observation.ts';
import { isSameRecord, type MigrationRecord } from './record.ts';
import type { Situation } from './situation.ts';
import type { Action, Next, PodVersion, SetEvent, WaitReason } from './step.ts';

/** Whatever changes the world comes after what is written about it. */
export function persisted(s: Situation, record: MigrationRecord, action: Action, event?: SetEvent): Next {
  if (!isSameRecord(s.record, record)) return act({ do: 'writeRecord', record });
  if (s.set.phase !== 'Migrating') return act({ do: 'setPhase', phase: 'Migrating' });
  return act(action, event === undefined ? {} : { event });
}

export function podOf({ pod, place }: Situation): PodFacts {
  if (pod === undefined) throw new Error(`the decision table looks at a Pod where there is none (${place})`);
  return pod;
}

export function digestOf({ observation: { tag }, place }: Situation): string {
  if (tag.state !== 'present') throw new Error(`the decision table looks at a tag where there is none (${place})`);
  return tag.digest;
}

export function versionOf({ uid, resourceVersion }: PodFacts): PodVersion {
  return { uid, resourceVersion };
}

export function messageOf(pod: PodFacts): string {
  return pod.lifecycle?.message ?? '';
}

export function act(action: Action, more: Omit<Extract<Next, { kind: 'act' }>, 'kind' | 'action'> = {}): Next {
  return { kind: 'act', action, ...more };
}

export function deletePod(s: Situation, { force = false, event }: { force?: boolean; event?: SetEvent }): Next {
  const action: Action = { do: 'deletePod', pod: versionOf(podOf(s)), keepSnapshot: false, force };
  return act(action, event === undefined ? {} : { event });
}

export function wait(reason: WaitReason, more: Omit<Extract<Next, { kind: 'wait' }>, 'kind' | 'reason'>): Next {
  return { kind: 'wait', reason, ...more };
}

/** A wait that is called by its second name once it takes long. */
export function timed(
  { context: { now } }: Situation,
  since: string,
  [usual, slow]: readonly [WaitReason, WaitReason],
  softMs: number,
  hardMs?: number,
  detail?: string,
): Next {
  const isSlow = elapsedMs(since, now) >= softMs;
  const reason = isSlow ? slow : usual;
  const limit = isSlow ? hardMs : softMs;
  return wait(reason, {
    since,
    ...(limit === undefined ? {} : { until: after(since, limit) }),
    ...(detail === undefined ? {} : { detail }),
  });
}
