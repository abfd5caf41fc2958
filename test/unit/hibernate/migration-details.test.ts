import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MigrateMainStatus } from '../../../workflows/contracts/hibernate.ts';
import { migrationDetails } from '../../../workflows/hibernate/migration-details.ts';

const since = '2026-03-01T12:00:00.000Z';

const waiting: MigrateMainStatus = {
  ...{
    kind: 'set-migration',
    id: 'set-migration/demo/web_1_',
    status: 'Waiting',
    turn: 1,
    slot: 'asked',
    queued: 2,
    since,
  },
  ...{ reason: 'SaveFailed', message: 'the *agent* did not save it', waitingFor: 'person', progress: 0.4 },
  steps: [
    { id: 'stop', title: 'save the VM', state: 'done' },
    { id: 'start', title: 'start it there', state: 'failed' },
  ],
  next: ['vmflow migrate retry demo/web', 'vmflow migrate abort demo/web'],
  set: { namespace: 'demo', name: 'web_1_' },
  ...{ source: 'node-a', target: 'node-b', vmID: 'vm-1' },
  conflict: {
    ...{
      id: 'SaveFailed/1',
      code: 'SaveFailed',
      what: 'it could not be saved',
      expected: 'a snapshot',
      found: 'none',
      since,
    },
    options: [
      { decision: 'retry', effect: 'it is tried again' },
      { decision: 'abort', effect: 'it goes back to node-a' },
    ],
  },
};

test('what a person is asked about a migration has what is pasted into the Web UI, and no list runs into another', () => {
  const text = migrationDetails(waiting, undefined);
  const json = /```json\n([^]*?)\n```/.exec(text)?.[1] ?? '';
  assert.deepEqual(JSON.parse(json), { conflictId: 'SaveFailed/1', decision: 'retry', by: 'your name' });
  assert.doesNotMatch(text, /^- .*\n\n- /m);
  const blocks = text.split('\n\n');
  assert.ok(blocks.includes('- `vmflow migrate retry demo/web`\n- `vmflow migrate abort demo/web`'));
  assert.ok(blocks.includes('- `retry`: it is tried again\n- `abort`: it goes back to node-a'));
});

test('names and messages that come from outside mean nothing to Markdown', () => {
  const text = migrationDetails(waiting, undefined);
  assert.match(text, /\*\*demo\/web_1\\_\*\*: node-a → node-b/);
  assert.match(text, /the \\\*agent\\\* did not save it/);
});
