import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markerEntries, readMarker, type FullMarker } from '../../../activities/template/marker.ts';
import { renameStep, type NextName, type OldName, type RenameStep } from '../../../activities/template/rename-plan.ts';
import { ImportProgress } from '../../../activities/template/upload-progress.ts';
import { versionOf, type VersionFacts } from '../../../activities/template/version.ts';
import { importHeartbeatSchema } from '../../../activities/schemas/template.ts';

const ready = { prod: 't', opId: 'w/r', version: '2', sha256: 'd', state: 'ready' } as const;

const versions: readonly (readonly [string, VersionFacts, string | undefined])[] = [
  ['a ready marker', { marker: ready, vAppVersions: [] }, '2'],
  ['a ready marker before the vApp product', { marker: ready, vAppVersions: ['9'] }, '2'],
  [
    'a marker that is still importing says nothing',
    { marker: { ...ready, state: 'importing' }, vAppVersions: [] },
    undefined,
  ],
  ['the product', { productVersion: '3', vAppVersions: ['9'] }, '3'],
  ['an empty product is none', { productVersion: '', vAppVersions: ['4'] }, '4'],
  ['the one vApp product', { vAppVersions: ['', '4'] }, '4'],
  ['the same vApp version twice', { vAppVersions: ['4', '4'] }, '4'],
  ['several vApp versions are unknown', { vAppVersions: ['4', '5'] }, undefined],
  ['nothing', { vAppVersions: [] }, undefined],
  ['marker and product that agree', { marker: ready, productVersion: '2', vAppVersions: [] }, '2'],
  ['marker and product that disagree are unknown', { marker: ready, productVersion: '3', vAppVersions: [] }, undefined],
  [
    'a product that the marker knows to be called otherwise',
    { marker: { ...ready, product: '3' }, productVersion: '3', vAppVersions: [] },
    '2',
  ],
];

for (const [title, facts, expected] of versions) {
  test(`the version of a VM: ${title}`, () => assert.equal(versionOf(facts).version, expected));
}

test('a version that two sources tell differently comes with a warning', () => {
  assert.match(versionOf({ marker: ready, productVersion: '3', vAppVersions: [] }).warning ?? '', /^VERSION_AMBIGUOUS/);
});

test('a marker is read back as it was written', () => {
  const full = { ...ready, product: '3', vm: 'vm-7', replaces: 'vm-1' };
  const entries = entriesOf(full);
  assert.deepEqual(readMarker(entries, 'vm-7'), full);
  assert.equal(
    readMarker(
      entries.filter(({ key }) => key !== 'templateSwap.state'),
      'vm-7',
    ),
    undefined,
  );
  assert.equal(readMarker([], 'vm-7'), undefined);
});

test('a marker that names another VM, as the copy on a clone does, is as good as none', () => {
  assert.equal(readMarker(entriesOf({ ...ready, vm: 'vm-7' }), 'vm-8'), undefined);
  assert.equal(readMarker(entriesOf(ready), 'vm-8'), undefined, 'one that names no VM');
  const importing = { ...ready, state: 'importing' } as const;
  assert.deepEqual(readMarker(entriesOf(importing), 'vm-8'), importing, 'it can name none before the VM exists');
});

function entriesOf(marker: FullMarker): { key: string; value: string }[] {
  return [...markerEntries(marker)].map(([key, value]) => ({ key, value }));
}

const renames: readonly (readonly [OldName, NextName, RenameStep])[] = [
  ['prod', 'from', 'step-aside'],
  ['aside', 'from', 'step-in'],
  ['aside', 'prod', 'done'],
  ['gone', 'prod', 'done'],
  ['gone', 'from', 'step-in'],
  ['prod', 'other', 'foreign'],
  ['prod', 'gone', 'plan-again'],
  ['aside', 'gone', 'give-back'],
  ['other', 'from', 'plan-again'],
];

test('the two names decide which rename comes next', () => {
  for (const [old, next, expected] of renames) assert.equal(renameStep(old, next), expected, `${old}, ${next}`);
});

test('an upload tells percent, never 100 before the last answer, and never less than before', () => {
  const progress = new ImportProgress(2, []);
  progress.totalBytes = 1000;
  progress.sent(500);
  progress.sent(400);
  assert.equal(progress.sentBytes, 500);
  assert.equal(progress.percent(false), 50);
  progress.sent(1000);
  assert.equal(progress.percent(false), 99);
  assert.equal(progress.percent(true), 100);
});

test('what a heartbeat tells is understood by the next attempt', () => {
  const progress = new ImportProgress(1, ['host-1']);
  progress.phase = 'uploading';
  progress.entityRef = 'vm-1';
  progress.fileCount = 1;
  assert.deepEqual(importHeartbeatSchema.parse(JSON.parse(JSON.stringify(progress.details()))), progress.details());
});
