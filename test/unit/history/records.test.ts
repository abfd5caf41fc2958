import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inwardKinds, peoplesMessages } from '../../../activities/history/names.ts';
import type { Happening, PastRun } from '../../../activities/history/past.ts';
import { endActions, type HistoryRecord } from '../../../activities/history/record.ts';
import { recordsOf } from '../../../activities/history/records.ts';
import { safeText, safeValue } from '../../../activities/history/redact.ts';
import { pastRuns } from './past-runs.ts';

const recorded = await pastRuns();

/** As people would tell it: action, name, who, why, from and to. */
function told({ action, name, by, reason, from, to }: HistoryRecord): string {
  const status = to === undefined ? undefined : `${from ?? ''}>${to}`;
  return [action, name, by, reason, status].filter((part) => part !== undefined).join(' ');
}

function recordsIn(name: string): HistoryRecord[] {
  const found = recorded.find((each) => each.name === name);
  assert.ok(found !== undefined, `no history ${name}`);
  return recordsOf(found.run);
}

/** A run of which these things happened, one second apart. */
function run(...happened: readonly Happening[]): PastRun {
  const events = happened.map((what, i) => ({ id: i + 1, at: `2026-03-01T13:00:${10 + i}.000Z`, what }));
  return { workflowId: 'batch/a', runId: 'run-1', events };
}

const started = {
  kind: 'started',
  type: 'batch',
  memo: {},
  attributes: { OpKind: 'batch', OpBatch: 'a' },
  identity: 'alice@desk',
  isContinued: false,
} as const;

describe('records of recorded histories', () => {
  test('a batch: who applied, started, stopped and deleted it, and what its status became', () => {
    assert.deepEqual(recordsIn('batch-completed-f9792fd8').map(told), [
      'started',
      'update apply a test',
      'status >Defined',
      'update-completed apply',
      'update start a test',
      'status Defined>Running',
      'update-completed start',
      'update stop a test',
      'status Running>Stopped',
      'update-completed stop',
      'update delete a test',
      'update-completed delete',
      'completed',
    ]);
  });

  test('a migration between nodes: another target, with who wanted it', () => {
    const records = recordsIn('migrateMain-completed-09f2c5dc');
    const retarget = records.find(({ name }) => name === 'retarget');
    assert.deepEqual(retarget, {
      id: `${retarget?.operation ?? ''}/${retarget?.run ?? ''}/16`,
      at: '2026-11-28T09:49:09.000Z',
      kind: 'hibernate-migration',
      vm: 'sets-2b15207d/web',
      operation: 'migrate/sets-2b15207d/web',
      run: retarget?.run ?? '',
      action: 'update',
      name: 'retarget',
      by: 'op',
      detail: { argument: { by: 'op', nodeName: 'sets-2b15207d-c' } },
    });
  });

  test('an entry of a batch has its VM and its batch in every record', () => {
    for (const { vm, batch, kind } of recordsIn('migration-completed-cd1a49df'))
      assert.deepEqual([kind, vm, batch], ['migration', 'left-29997a304', 'b16-29997a304']);
  });

  test('all of them: ids are those of their events, times never go back, a status changes, the last one says how it ended', () => {
    assert.ok(recorded.length > 150);
    for (const { name, run } of recorded) {
      const records = recordsOf(run);
      const ids = records.map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length, name);
      assert.deepEqual(
        records.map(({ at }) => at),
        records.map(({ at }) => at).toSorted(),
        name,
      );
      for (const { id, action, from, to } of records) {
        assert.ok(id.startsWith(`${run.workflowId}/${run.runId}/`), name);
        if (action === 'status') assert.ok(to !== undefined && from !== to, name);
      }
      const last = run.events.at(-1)?.what;
      const kind = records[0]?.kind;
      if (last?.kind !== 'end' || kind === undefined || inwardKinds.has(kind)) continue;
      assert.equal(records.at(-1)?.action, last.how, name);
      assert.ok(endActions.includes(last.how), name);
    }
  });

  test('of all of them every message of a person has a record with a name, and no other message has one', () => {
    const asked = new Set<string>();
    for (const { name, run } of recorded) {
      const sent = run.events.flatMap(({ id, what }) =>
        (what.kind === 'update' || what.kind === 'signal') && peoplesMessages.has(what.name) ? [id] : [],
      );
      const records = recordsOf(run).filter(({ action }) => action === 'update' || action === 'signal');
      assert.deepEqual(
        records.map(({ id }) => Number(id.slice(id.lastIndexOf('/') + 1))),
        sent,
        name,
      );
      for (const record of records) {
        assert.ok(record.by !== undefined, `${name}: ${record.id}`);
        asked.add(record.name ?? '');
      }
    }
    for (const one of ['ensure', 'undo', 'resolve', 'abandon', 'hold', 'cancelDrain', 'abort'])
      assert.ok(asked.has(one), one);
    assert.ok(!asked.has('slot') && !asked.has('submit') && !asked.has('poke'));
  });
});

describe('records', () => {
  test('who started it: the one whom the request names, else the memo, else the client', () => {
    const by = (more: Partial<Extract<Happening, { kind: 'started' }>>): string | undefined =>
      recordsOf(run({ ...started, ...more }))[0]?.by;
    assert.equal(by({ argument: { by: 'carol' }, memo: { by: 'bob' } }), 'carol');
    assert.equal(by({ memo: { by: 'bob' } }), 'bob');
    assert.equal(by({}), 'alice@desk');
    assert.equal(by({ identity: '', parent: 'batch/b' }), undefined);
  });

  test('who canceled and who terminated it, and why', () => {
    const records = recordsOf(
      run(
        started,
        { kind: 'cancel-requested', identity: 'bob@desk', reason: '' },
        { kind: 'end', how: 'terminated', identity: 'carol@desk', reason: 'stuck' },
      ),
    );
    assert.deepEqual(records.map(told), [
      'started alice@desk',
      'cancel-requested bob@desk',
      'terminated carol@desk stuck',
    ]);
  });

  test('an accepted message that failed says so with its message', () => {
    const records = recordsOf(
      run(
        started,
        { kind: 'update', name: 'start', argument: { by: 'bob', reason: 'now' }, identity: 'x' },
        { kind: 'update-end', acceptedId: 2, failure: 'no VM is left' },
      ),
    );
    assert.deepEqual(records.slice(1).map(told), ['update start bob now', 'update-failed start']);
    assert.deepEqual(records[2]?.detail, { update: 2, message: 'no VM is left' });
  });

  test('a run that goes on from another was not started by anybody', () => {
    const records = recordsOf(
      run(
        { ...started, attributes: { ...started.attributes, OpStatus: 'Running' }, isContinued: true },
        { kind: 'attributes', attributes: { OpStatus: 'Running' } },
        { kind: 'end', how: 'continued' },
      ),
    );
    assert.deepEqual(records.map(told), ['continued']);
  });

  test('a run that was reset tells only what came after: the rest is told by the run it was copied from', () => {
    const records = recordsOf(
      run(
        started,
        { kind: 'update', name: 'start', argument: { by: 'bob' }, identity: '' },
        { kind: 'attributes', attributes: { OpStatus: 'Running' } },
        { kind: 'reset', identity: 'carol@desk', message: 'bad build' },
        { kind: 'attributes', attributes: { OpStatus: 'Stopped' } },
      ),
    );
    assert.deepEqual(records.map(told), ['reset carol@desk', 'status Running>Stopped']);
  });

  test('of a part of another operation only what somebody did to it from outside is told', () => {
    const records = recordsOf(
      run(
        { ...started, attributes: { OpKind: 'batch-shard' } },
        { kind: 'attributes', attributes: { OpStatus: 'Running' } },
        { kind: 'cancel-requested', identity: '', reason: '', parent: 'batch/a' },
        { kind: 'end', how: 'terminated', identity: 'bob@desk', reason: 'stuck' },
      ),
    );
    assert.deepEqual(records.map(told), ['terminated bob@desk stuck']);
  });

  test('no secret gets in, by its name or in a text, at any depth', () => {
    const argument = {
      by: 'bob',
      reason: 'see https://op:planted@host/a and Bearer planted-planted, password=planted',
      key: '-----BEGIN RSA PRIVATE KEY-----\nplanted',
      source: { url: 'https://host/planted', headers: [{ Authorization: 'planted' }], passwordFile: '/planted' },
      nested: [{ ova: 'https://host/x.ova?sig=planted', apiKey: 'planted', privateKey: 'planted' }],
    };
    const text = JSON.stringify(
      recordsOf(run({ ...started, argument }, { kind: 'end', how: 'failed', message: 'token: planted' })),
    );
    assert.doesNotMatch(text, /planted/);
    assert.match(text, /https:\/\/host\/x\.ova/);
  });

  for (const text of [
    "password: 'planted'",
    "password='planted planted'",
    'password = "planted planted"',
    'root_password=planted',
    'access_token=planted',
    'vmflow --password planted now',
    'say --vc-password "planted planted"',
    'https://u:planted/planted@h/',
    'https://u:pl@planted@h',
  ])
    test(`in the text ${text} the secret is not kept`, () => assert.doesNotMatch(safeText(text), /planted/));

  for (const name of ['accessToken', 'authToken', 'api_key', 'pwd', 'vcPassword', 'refresh_token'])
    test(`the field ${name} is not kept`, () =>
      assert.doesNotMatch(JSON.stringify(safeValue({ a: [{ [name]: 'planted' }] })), /planted/));

  test('words that only look like secrets are kept', () => {
    const text = 'the password of the host was changed; token of entry 5; image app:1 on https://host:5000/v2/app';
    assert.equal(safeText(text), text);
    assert.deepEqual(safeValue({ commitToken: 'a', keyboard: 'b' }), { commitToken: 'a', keyboard: 'b' });
  });

  test('a long text without blanks holds nothing up', { timeout: 20_000 }, () => {
    assert.ok(safeText('a'.repeat(2_000_000)).length <= 2_048);
  });

  test('what is long is cut to 2 KB, and never in the middle of a character', () => {
    const [record] = recordsOf(run({ ...started, argument: { text: 'ä'.repeat(5_000) } }));
    const argument = String(record?.detail?.['argument']);
    assert.ok(Buffer.byteLength(argument) <= 2_048 && Buffer.byteLength(argument) > 2_000);
    assert.ok(argument.endsWith('ä…'));
    assert.equal(safeText('short'), 'short');
    assert.deepEqual(safeValue({ a: [1, null, true] }), { a: [1, null, true] });
  });
});
