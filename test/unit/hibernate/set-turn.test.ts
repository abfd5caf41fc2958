import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Context } from '../../../workflows/domain/hibernate/situation.ts';
import type { AgentLook, SetLook } from '../../../workflows/domain/hibernate/set-look.ts';
import { setTurn, type SetStep } from '../../../workflows/domain/hibernate/set-turn.ts';
import {
  aContext,
  aHibernation,
  aLook,
  anEmptyPod,
  anUnscheduledPod,
  aPod,
  aQuiescedPod,
  aRecord,
  at,
  aTag,
  noTag,
  said,
  type Scene,
} from './builders.ts';

interface SetScene extends Scene {
  readonly agents?: readonly Partial<AgentLook>[];
  readonly mainIs?: Partial<AgentLook>;
  readonly look?: Partial<SetLook>;
}

const settledPod = aPod({ nodeName: 'node-b' });

function lookOf({ agents = [], mainIs = {}, look = {}, ...scene }: SetScene): SetLook {
  const main = aLook(scene);
  const agent = { drifted: false, unmanaged: false, tag: noTag, hibernations: main.hibernations };
  const first = { ...agent, slot: 0, tag: main.tag, ...(main.pod === undefined ? {} : { pod: main.pod }), ...mainIs };
  return {
    ...(main.set === undefined ? {} : { set: main.set }),
    main,
    replicas: agents.length,
    snapshotPolicy: 'always',
    hasFinalizer: true,
    agents: [first, ...agents.map((one, index) => ({ ...agent, slot: index + 1, hibernations: [], ...one }))],
    owedDrops: [],
    isMigrationOpen: false,
    ...look,
  };
}

function inShort({ rule, action, phase, reason, isSettled, isOver }: SetStep): string {
  const ends = isOver === true ? 'over' : isSettled === true ? 'settled' : '';
  const parts = [action === undefined ? '' : describe(action), phase ?? '', reason ?? '', ends];
  return [rule, ...parts.filter((part) => part !== '')].join(' ');
}

function describe(action: NonNullable<SetStep['action']>): string {
  if (action.do === 'createMain') return action.restore === undefined ? 'createFresh' : 'createRestored';
  if (action.do === 'createAgents') return `createAgents ${action.slots.join(',')} on ${action.nodeName}`;
  if ('pods' in action) return `${action.do} ${action.pods.map(({ uid }) => uid).join(',')}`;
  return action.do === 'dropTag' ? `dropTag ${action.because}` : action.do;
}

const sub = (over: Parameters<typeof aPod>[0] = {}): ReturnType<typeof aPod> =>
  aPod({ uid: 'sub-1', nodeName: 'node-b', ...over });
const suspended = { suspend: true, phase: 'Suspending' } as const;
const since = { suspendingSince: at(-10) };
const late = { suspendingSince: at(-200) };

function unpinned(pod: ReturnType<typeof anUnscheduledPod>): ReturnType<typeof anUnscheduledPod> {
  const { pinnedTo, ...rest } = pod;
  assert.ok(pinnedTo !== undefined);
  return rest;
}

type Line = readonly [expected: string, title: string, scene: SetScene, context?: Partial<Context>];

const lines: readonly Line[] = [
  ['2 noteVmNames', 'deletion: first the names', { set: { deleting: true }, pod: settledPod }],
  [
    '2 deletePods pod-1',
    'deletion: then the Pods',
    { set: { deleting: true }, pod: settledPod, look: { collecting: ['v'] } },
  ],
  [
    '2 PodsGoing',
    'deletion: until they are gone',
    { set: { deleting: true }, pod: aPod({ deletedAt: at(-1) }), look: { collecting: ['v'] } },
  ],
  ['2 collectAndRelease', 'deletion: then the tags', { set: { deleting: true }, look: { collecting: ['v'] } }],
  [
    '2 collectAndRelease',
    'a foreign Pod holds nothing up',
    { set: { deleting: true }, pod: aPod({ owned: false }), look: { collecting: ['v'] } },
  ],
  ['2 over', 'deletion: released', { set: { deleting: true }, look: { hasFinalizer: false } }],
  ['3 addFinalizer', 'before anything else', { pod: settledPod, look: { hasFinalizer: false } }],
  ['4 stampPods pod-1,sub-1', 'the newest wish', { pod: aPod({ stamp: 6 }), agents: [{ pod: sub({ stamp: 6 }) }] }],
  [
    '4 stampPods sub-1',
    "main's is the open migration's",
    { pod: aPod({ stamp: 6 }), agents: [{ pod: sub({ stamp: 6 }) }], look: { isMigrationOpen: true } },
  ],
  ['5 noteSuspending', 'suspend: first since when', { set: suspended, pod: settledPod }],
  [
    '5 Suspending MigrationParks',
    'suspend: the migration lets go',
    { set: suspended, pod: settledPod, look: { ...since, isMigrationOpen: true } },
  ],
  [
    '5 setHibernate pod-1,sub-1 Suspending',
    'suspend: all that are awake',
    { set: suspended, pod: settledPod, agents: [{ pod: sub() }], look: since },
  ],
  [
    '5 setHibernate pod-1 Suspending',
    'suspend: not those of others',
    { set: suspended, pod: settledPod, agents: [{ pod: sub(), unmanaged: true }], look: since },
  ],
  [
    '5 Suspending',
    'suspend: the agents work',
    { set: suspended, pod: aPod({ hibernate: true }), tag: aTag(), look: since },
  ],
  [
    '5 Suspending',
    'suspend: confirmed for an older wish',
    { set: { ...suspended, generation: 8 }, pod: aQuiescedPod({ stamp: 8 }), tag: aTag(), look: since },
  ],
  ['5 Suspending', 'suspend: confirmed, and no tag', { set: suspended, pod: aQuiescedPod(), look: since }],
  ['5 Suspended settled', 'suspend: done', { set: suspended, pod: aQuiescedPod(), tag: aTag(), look: since }],
  [
    '5 Failed SuspendTimedOut',
    'suspend: it takes long',
    { set: suspended, pod: aPod({ hibernate: true }), look: late },
  ],
  ['5 createRestored Pending', 'suspend: main is in its snapshot', { set: suspended, tag: aTag(), look: since }],
  ['5 createFresh Pending', 'a set that begins suspended', { set: { suspend: true, phase: 'Pending' }, look: since }],
  [
    '5 SnapshotMissing',
    'suspended, and Pod and snapshot vanished',
    { set: { ...suspended, phase: 'Suspended' }, look: since },
  ],
  [
    '5 Failed SnapshotMissing',
    'suspended on the way, and the snapshot vanished',
    { set: suspended, record: aRecord({ stage: 'moving' }), look: since },
  ],
  [
    '5 createFresh Pending',
    'a person accepts the loss',
    { set: { ...suspended, phase: 'Suspended' }, look: since },
    { order: 'acknowledge-loss' },
  ],
  [
    '5 startMigration Suspending',
    'the fence is up',
    {
      set: suspended,
      record: aRecord({ stage: 'restoring', redo: { podUID: 'p', until: at(9) } }),
      tag: aTag(),
      look: since,
    },
  ],
  [
    '5 RegistryUnavailable',
    'suspend: no answer of the registry',
    { set: suspended, tag: { state: 'unknown', reason: '503' }, look: since },
  ],
  ['6 Failed MainAgentFailed settled', 'main failed', { pod: aPod({ nodeName: 'node-b', lifecycle: said('failed') }) }],
  ['7 startMigration', 'main failed and is wanted elsewhere', { pod: aPod({ lifecycle: said('failed') }) }],
  ['7 startMigration', 'main failed on the way', { record: aRecord(), pod: aPod({ lifecycle: said('failed') }) }],
  [
    '10 deletePods pod-1 Pending',
    'main failed and has a new template',
    { pod: aPod({ nodeName: 'node-b', lifecycle: said('failed') }), mainIs: { drifted: true } },
  ],
  ['7 Migrating', 'the migration is at work', { pod: aPod(), look: { isMigrationOpen: true } }],
  ['7 startMigration', 'wanted elsewhere', { pod: aPod() }],
  ['7 startMigration', 'a leaked tag', { pod: settledPod, tag: aTag() }],
  [
    '9 forgetSuspending',
    'un-suspend: since when is over',
    { pod: aQuiescedPod({ nodeName: 'node-b' }), tag: aTag(), look: since },
  ],
  [
    '9 noteOwedDrops Waking',
    'un-suspend: first what it owes',
    { set: { phase: 'Suspended' }, pod: aQuiescedPod({ nodeName: 'node-b' }), tag: aTag() },
  ],
  [
    '9 clearHibernate pod-1 Waking',
    'un-suspend: then the flag',
    {
      set: { phase: 'Suspended' },
      pod: aQuiescedPod({ nodeName: 'node-b' }),
      tag: aTag(),
      look: { owedDrops: [{ slot: 0, generation: 7 }] },
    },
  ],
  [
    '12 Pending',
    'un-suspend: not what is held',
    {
      set: { phase: 'Suspended' },
      pod: aQuiescedPod({ nodeName: 'node-b' }),
      tag: aTag(),
      hibernations: [aHibernation()],
    },
  ],
  [
    '9 dropTag owed',
    'a woken sub-agent has said that it is ready',
    { pod: settledPod, agents: [{ pod: sub(), tag: aTag() }], look: { owedDrops: [{ slot: 1, generation: 7 }] } },
  ],
  [
    '15 Running',
    'a woken sub-agent has said nothing since',
    { pod: settledPod, agents: [{ pod: sub(), tag: aTag() }], look: { owedDrops: [{ slot: 1, generation: 8 }] } },
  ],
  [
    '9 noteOwedDrops',
    'its tag has gone',
    { pod: settledPod, agents: [{ pod: sub() }], look: { owedDrops: [{ slot: 1, generation: 7 }] } },
  ],
  [
    '15 Running',
    'a foreign tag is not dropped',
    {
      pod: settledPod,
      agents: [{ pod: sub(), tag: aTag({ createdAt: at(-90_000) }) }],
      look: { owedDrops: [{ slot: 1, generation: 7 }] },
    },
  ],
  ['10 deletePods pod-1 Pending', 'a new template', { pod: settledPod, mainIs: { drifted: true } }],
  [
    '10 Pending Restoring',
    'a new template while main is restored',
    { set: { nodeName: '' }, pod: anEmptyPod(), tag: aTag(), mainIs: { drifted: true } },
  ],
  ['11 createFresh Pending', 'a first main', { set: { phase: 'Pending' } }],
  ['11 createRestored Pending', 'a main that is in its snapshot', { set: { nodeName: '' }, tag: aTag() }],
  [
    '11 dropTag discarded SnapshotDiscarded',
    'another image',
    { set: { nodeName: '' }, tag: aTag({ baseImage: 'base:0' }) },
  ],
  [
    '11 RegistryUnavailable',
    'no answer of the registry',
    { set: { nodeName: '' }, tag: { state: 'unknown', reason: '503' } },
  ],
  [
    '11 SnapshotForeign',
    'the snapshot of somebody else',
    { set: { nodeName: '' }, tag: aTag({ createdAt: at(-90_000) }) },
  ],
  [
    '11 SnapshotMissing',
    'a main that was woken and whose tag vanished',
    { set: { nodeName: '' }, look: { owedDrops: [{ slot: 0, generation: 7 }] } },
  ],
  ['11 Pending PodNameConflict', 'a foreign Pod', { set: { nodeName: '' }, pod: aPod({ owned: false }) }],
  [
    '12 Pending',
    'main is not ready',
    { set: { nodeName: '', phase: 'Pending' }, pod: unpinned(anUnscheduledPod()), tag: { state: 'unread' } },
  ],
  ['13 createAgents 1,2 on node-b Scaling', 'sub-agents on the node of main', { pod: settledPod, agents: [{}, {}] }],
  [
    '13 deletePods sub-1 Scaling',
    'too many sub-agents',
    { pod: settledPod, agents: [{ pod: sub() }], look: { replicas: 0 } },
  ],
  ['13 Scaling PodNameConflict', 'a foreign sub-agent', { pod: settledPod, agents: [{ pod: sub({ owned: false }) }] }],
  ['15 Scaling', 'a sub-agent is not ready', { pod: settledPod, agents: [{ pod: sub({ containerRunning: false }) }] }],
  ['15 Running settled', 'all is well', { pod: settledPod, agents: [{ pod: sub() }] }],
];

for (const [expected, title, scene, context = {}] of lines) {
  test(`${title}: ${expected}`, () => {
    assert.equal(inShort(setTurn(lookOf(scene), aContext(context))), expected);
  });
}

test('a set that is gone is over', () => {
  const { set, ...look } = lookOf({});
  assert.ok(set !== undefined);
  assert.deepEqual(setTurn(look, aContext()), { rule: '1', isOver: true });
});

test('no more than eight sub-agents are created at a time', () => {
  const { action } = setTurn(lookOf({ pod: settledPod, agents: Array.from({ length: 20 }, () => ({})) }), aContext());
  assert.ok(action?.do === 'createAgents' && action.slots.length === 8);
});
