import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decideHibernation,
  type HibernationLook,
  type HibernationStep,
} from '../../../workflows/domain/hibernate/hibernation.ts';
import { defaultSettings } from '../../../workflows/domain/hibernate/settings.ts';
import { aPod, aQuiescedPod, at, aTag, noTag, said, t0 } from './builders.ts';

type Hibernation = NonNullable<HibernationLook['hibernation']>;

const wish = (over: Partial<Hibernation> = {}): Hibernation => ({
  desire: 'Hibernate',
  phaseSince: at(-10),
  generation: 1,
  observedGeneration: 1,
  deleting: false,
  hasFinalizer: true,
  ...over,
});
const look = (hibernation: Partial<Hibernation>, over: Partial<HibernationLook> = {}): HibernationLook => ({
  hibernation: wish(hibernation),
  pod: aPod(),
  tag: noTag,
  isSetSuspended: false,
  isNamedElsewhere: true,
  ...over,
});
const withoutPod = ({ pod, ...rest }: HibernationLook): HibernationLook => {
  assert.ok(pod !== undefined);
  return rest;
};

function inShort(step: HibernationStep): string {
  if (step.kind === 'wait') return `wait ${step.reason}`;
  if (step.kind === 'settled') return step.gone === true ? 'gone' : 'settled';
  if (step.action.do === 'setPhase') return `${step.action.phase}${step.event === undefined ? '' : ` ${step.event}`}`;
  return step.action.do;
}

const asleep = { pod: aQuiescedPod(), tag: aTag() };
const woken = aPod({ vmId: 'vm-2' });
const wake = { desire: 'Wake', sourceVMID: 'vm-1' } as const;
const minutes = (n: number): string => at(-60 * n);

const lines: readonly (readonly [expected: string, title: string, look: HibernationLook])[] = [
  ['addFinalizer', 'before anything else', look({ hasFinalizer: false })],
  ['Hibernating', 'hibernate: first the phase', look({})],
  ['noteSource', 'hibernate: then which VM', look({ phase: 'Hibernating' })],
  ['setHibernate', 'hibernate: then the flag', look({ phase: 'Hibernating', sourceVMID: 'vm-1' })],
  [
    'wait Hibernating',
    'hibernate: the agent works',
    look({ phase: 'Hibernating', sourceVMID: 'vm-1' }, { pod: aPod({ hibernate: true }), tag: aTag() }),
  ],
  ['wait Hibernating', 'hibernate: confirmed, and no tag', look({ phase: 'Hibernating' }, { pod: aQuiescedPod() })],
  ['Hibernated Hibernated', 'hibernate: done', look({ phase: 'Hibernating' }, asleep)],
  ['settled', 'asleep', look({ phase: 'Hibernated' }, asleep)],
  [
    'Failed HibernateTimedOut',
    'hibernate: it takes too long',
    look({ phase: 'Hibernating', phaseSince: minutes(3) }, { pod: aPod({ hibernate: true }) }),
  ],
  ['Hibernating', 'a new Pod has restored the VM', look({ phase: 'Hibernated' }, { pod: woken, tag: aTag() })],
  ['settled', 'a new Pod is restoring the VM', look({ phase: 'Hibernated' }, { pod: aPod({ vmId: '' }), tag: aTag() })],
  ['wait HibernateTimedOut', 'failed', look({ phase: 'Failed' }, { pod: aPod({ hibernate: true }) })],
  ['Hibernated Hibernated', 'a late success counts', look({ phase: 'Failed' }, asleep)],
  [
    'Hibernating RetryRequested',
    'failed, and asked again',
    look({ phase: 'Failed', generation: 2 }, { pod: aPod({ hibernate: true }) }),
  ],
  [
    'wait Hibernating',
    'the wish is turned while the agent works',
    look({ ...wake, phase: 'Hibernating' }, { pod: aPod({ hibernate: true }) }),
  ],
  [
    'Waking HibernateTimedOut',
    'the wish was turned and it took too long',
    look({ ...wake, phase: 'Hibernating', phaseSince: minutes(3) }, { pod: aPod({ hibernate: true }) }),
  ],
  ['Waking', 'wake: first the phase', look({ ...wake, phase: 'Hibernated' }, asleep)],
  ['clearHibernate', 'wake: then the flag', look({ ...wake, phase: 'Waking' }, asleep)],
  ['wait Waking', 'wake: not live yet', look({ ...wake, phase: 'Waking' }, { pod: aPod({ vmId: '' }), tag: aTag() })],
  [
    'wait Waking',
    'wake: live, not ready',
    look({ ...wake, phase: 'Waking' }, { pod: aPod({ vmId: 'vm-2', lifecycle: said('creating') }), tag: aTag() }),
  ],
  ['dropTag', 'wake: ready', look({ ...wake, phase: 'Waking' }, { pod: woken, tag: aTag() })],
  ['Active WokenActive', 'wake: done', look({ ...wake, phase: 'Waking' }, { pod: woken })],
  ['settled', 'awake', look({ ...wake, phase: 'Active' }, { pod: woken })],
  [
    'wait Waking',
    'the VM that was to be stored still runs: its agent may be about to remove it',
    look({ ...wake, phase: 'Waking' }, { tag: aTag() }),
  ],
  [
    'Active WokenActive',
    'the VM that was to be stored runs on and no tag is there',
    look({ ...wake, phase: 'Waking' }),
  ],
  [
    'Active WokenActive',
    'the VM that could not be stored runs on, and its agent still says why',
    look({ ...wake, phase: 'Waking' }, { pod: aPod({ lifecycle: said('failed') }) }),
  ],
  [
    'Failed WakeTimedOut',
    'wake: it takes too long',
    look({ ...wake, phase: 'Waking', phaseSince: minutes(5) }, { pod: aPod({ vmId: '' }), tag: aTag() }),
  ],
  [
    'wait SetSuspended',
    'the set wants it asleep',
    look({ ...wake, phase: 'Waking' }, { ...asleep, isSetSuspended: true }),
  ],
  ['wait PodMissing', 'asleep, and the Pod has gone', withoutPod(look({ phase: 'Hibernated' }, { tag: aTag() }))],
  ['Pending', 'no Pod', withoutPod(look({ phase: 'Active' }))],
  [
    'removeFinalizer',
    'deleted while the VM sleeps: its state stays',
    look({ deleting: true, phase: 'Hibernated' }, asleep),
  ],
  [
    'removeFinalizer',
    'deleted without a Pod, and the set is there',
    withoutPod(look({ deleting: true }, { tag: aTag() })),
  ],
  [
    'dropTag',
    'deleted without a Pod and nobody names the VM',
    withoutPod(look({ deleting: true }, { tag: aTag(), isNamedElsewhere: false })),
  ],
  ['dropTag', 'deleted while the woken VM runs', look({ deleting: true, ...wake }, { pod: woken, tag: aTag() })],
  ['gone', 'released', look({ deleting: true, hasFinalizer: false })],
  ['gone', 'the object is gone', { tag: noTag, isSetSuspended: false, isNamedElsewhere: true }],
];

for (const [expected, title, scene] of lines) {
  test(`${title}: ${expected}`, () => {
    assert.equal(inShort(decideHibernation(scene, t0, defaultSettings)), expected);
  });
}
