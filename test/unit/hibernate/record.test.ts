import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fingerprint } from '../../../workflows/domain/hibernate/fingerprint.ts';
import { parseVmNames, sharingVmName, vmNamesToCollect } from '../../../workflows/domain/hibernate/names.ts';
import { formatRecord, parseRecord } from '../../../workflows/domain/hibernate/record.ts';
import { defaultSettings, settingsProblem } from '../../../workflows/domain/hibernate/settings.ts';
import { aHibernation, aLook, aNode, aPod, aRecord, at, aTag, said, type Scene } from './builders.ts';

test('a record comes back as it was written', () => {
  const full = aRecord({ snapshotDigest: 'sha256:1', barredAt: 3, redo: { podUID: 'p', until: at(9) } });
  for (const record of [aRecord(), full]) assert.deepEqual(parseRecord(formatRecord(record)), record);
});

test('equal records are equal texts, whatever the order of their fields', () => {
  const { id, ...rest } = aRecord();
  assert.equal(formatRecord({ ...rest, id }), formatRecord(aRecord()));
});

test('an annotation that is no record is as good as none', () => {
  const wrong = ['', 'no JSON', '[]', 'null', '{}', JSON.stringify({ ...aRecord(), stage: 'flying' })];
  const worse = [{ generation: 'x' }, { stageAt: 'yesterday' }, { redo: {} }, { snapshotDigest: 1 }];
  const texts = [undefined, ...wrong, ...worse.map((part) => JSON.stringify({ ...aRecord(), ...part }))];
  for (const text of texts) assert.equal(parseRecord(text), undefined, text);
});

test('VM names can be equal across sets, because hyphens join what may hold hyphens', () => {
  const all = [
    { namespace: 'demo', name: 'web' },
    { namespace: 'demo', name: 'web-0' },
    { namespace: 'de', name: 'mo-web' },
    { namespace: 'demo-web', name: '0' },
  ];
  assert.deepEqual(sharingVmName({ namespace: 'demo', name: 'web' }, all), []);
  const twins = [
    { namespace: 'a', name: 'b-c' },
    { namespace: 'a-b', name: 'c' },
  ];
  assert.deepEqual(sharingVmName({ namespace: 'a', name: 'b-c' }, twins), ['a-b/c']);
});

test('what is collected with a set is what its spec, its status, its Pods and an earlier note name', () => {
  const names = vmNamesToCollect({ namespace: 'demo', name: 'web', replicas: 1 }, [
    ['vk-demo-web-5'],
    parseVmNames('vk-old,,'),
  ]);
  assert.deepEqual(names, ['vk-demo-web-0', 'vk-demo-web-1', 'vk-demo-web-5', 'vk-old']);
});

const base: Scene = { pod: aPod(), record: aRecord(), tag: aTag() };
const changes: readonly (readonly [string, Scene])[] = [
  ['the wish', { ...base, set: { nodeName: 'node-c', generation: 8 } }],
  ['the phase', { ...base, set: { phase: 'Failed' } }],
  ['suspending', { ...base, set: { suspend: true } }],
  ['deleting', { ...base, set: { deleting: true } }],
  ['the record', { ...base, record: aRecord({ stage: 'moving' }) }],
  ['the Pod', { ...base, pod: aPod({ uid: 'pod-9' }) }],
  ['the flag', { ...base, pod: aPod({ hibernate: true }) }],
  ['what the agent says', { ...base, pod: aPod({ lifecycle: said('failed') }) }],
  ['the deletion of the Pod', { ...base, pod: aPod({ deletedAt: at(0) }) }],
  ['a hibernation', { ...base, hibernations: [aHibernation()] }],
  ['the target', { ...base, target: aNode('node-b', { unschedulable: true }) }],
  [
    'whether there is room',
    { ...base, target: aNode('node-b', { free: { cpuMilli: 0, memory: 0, storage: 0, pods: 0 } }) },
  ],
  ['the source', { ...base, source: 'gone' }],
  ['the tag', { ...base, tag: aTag({ digest: 'sha256:2' }) }],
];

test('the fingerprint changes with everything that a decision looks at', () => {
  const before = fingerprint(aLook(base));
  for (const [what, scene] of changes) assert.notEqual(fingerprint(aLook(scene)), before, what);
});

test('the fingerprint does not change with versions or with room that is enough anyway', () => {
  const before = fingerprint(aLook(base));
  const same: readonly Scene[] = [
    { ...base, set: { resourceVersion: '999' } },
    { ...base, pod: aPod({ resourceVersion: '999' }) },
    { ...base, target: aNode('node-b', { free: { cpuMilli: 3_000, memory: 2 ** 32, storage: 1, pods: 5 } }) },
  ];
  for (const scene of same) assert.equal(fingerprint(aLook(scene)), before);
});

test('settings that contradict each other are told', () => {
  assert.equal(settingsProblem(defaultSettings), undefined);
  assert.match(settingsProblem({ ...defaultSettings, quiesceHardMs: 1 }) ?? '', /quiesceSoftMs.*shorter/);
  assert.match(settingsProblem({ ...defaultSettings, fenceMs: 0 }) ?? '', /fenceMs/);
});
