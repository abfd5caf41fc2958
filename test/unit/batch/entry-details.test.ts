import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entryDetails } from '../../../workflows/batch/entry-details.ts';
import type { Conflict } from '../../../workflows/contracts/conflict.ts';
import { conflictOptions } from '../../../workflows/domain/batch/conflict-options.ts';
import { emptyTarget, type Entry } from '../../../workflows/domain/batch/entry.ts';
import { withoutGuestTools } from '../../../workflows/domain/batch/guest-tools.ts';
import { aBatch, aPlacement, aVm } from './record-builders.ts';

const at = '2026-03-01T12:00:00.000Z';
const atInWords = '2026-03-01 12:00:00 UTC';
const power: Entry['source_power'] = { initial_running: true };
const resolve = 'vmflow queue resolve u-1 --decision recheck';
const cancel = 'vmflow queue cancel u-1';

function anEntry(over: Partial<Entry> = {}): Entry {
  const facts = {
    stage: 'background',
    since: at,
    record: aVm(),
    placement: aPlacement(),
    target: emptyTarget,
    source_power: power,
  };
  return { status: 'Idle', message: 'waits for its window', ...facts, ...over } as Entry;
}

const finding: NonNullable<Entry['conflict']> = {
  ...{ code: 'NETWORK_GONE', message: 'there is no network "lan"', expected: 'lan', found: 'nothing' },
  ...{ moment: 'M1', since: at },
};

function conflictOf({ code, message, expected, found }: NonNullable<Entry['conflict']>): Conflict {
  const options = conflictOptions(code as 'NETWORK_GONE', { name: 'web-03', batch: 'night-1', isCommitted: false });
  return { id: `${code}/u-1/0`, code, what: `web-03: ${message}`, expected, found, since: at, options };
}

function inConflict(of: NonNullable<Entry['conflict']> = finding, message = `${of.code}: ${of.message}`): string {
  const entry = anEntry({ status: 'Conflict', message, conflict: of });
  const next = [resolve, cancel];
  return entryDetails(entry, { name: 'web-03', trouble: undefined, next, conflict: conflictOf(of) });
}

/** Blocks of Markdown, which empty lines separate. */
const blocks = (markdown: string): string[] => markdown.split('\n\n');

test('a Conflict has what is sent from the Web UI to resolve it, ready to paste', () => {
  const [before = '', json = ''] = /^([^]*)```json\n([^]*?)\n```$/m.exec(inConflict())?.slice(1) ?? [];
  assert.deepEqual(JSON.parse(json), { conflictId: 'NETWORK_GONE/u-1/0', decision: 'recheck', by: 'your name' });
  assert.match(before, /\*Send an Update\*.*\*Name\* `resolve`, as \*Data\*/);
});

test('choices and commands of a Conflict are lists of their own', () => {
  const all = blocks(inConflict());
  const listWith = (text: string): string[] => all.find((block) => block.includes(text))?.split('\n') ?? [];
  assert.deepEqual(listWith(resolve), [`- \`${resolve}\``, `- \`${cancel}\``]);
  const choices = listWith('`recheck`');
  assert.equal(choices.length, 2);
  for (const choice of choices) assert.match(choice, /^- `(?:recheck|cancel)`: /);
  assert.deepEqual(listWith('expected: '), ['- expected: lan', '- found: nothing']);
});

test('no list is followed by another one: Markdown would take them for one', () => {
  const window = { name: 'sat', end: at, capacity: 0 };
  const idle = entryDetails(anEntry({ window }), { name: 'web-03', trouble: undefined, next: [cancel] });
  for (const text of [inConflict(), idle]) assert.doesNotMatch(text, /^- .*\n\n- /m);
});

test('a Conflict that is resolved is no question any more', () => {
  const entry = anEntry({ status: 'Waiting', message: 'Conflict resolved', conflict: finding });
  const around = { name: 'web-03', trouble: undefined, next: [cancel], conflict: conflictOf(finding) };
  assert.doesNotMatch(entryDetails(entry, around), /NETWORK_GONE/);
});

test('what was found is told once, with its code once', () => {
  const text = inConflict();
  assert.equal(text.split(finding.message).length, 2, text);
  assert.equal(text.split('NETWORK_GONE').length, 3, 'once for people, once in the id');
});

test('a running VM without guest tools is told so with the code once', () => {
  const { what = '' } = withoutGuestTools(aVm({ guest_tools: false }), aBatch().config) ?? {};
  const silent = { ...finding, code: 'NO_GUEST_TOOLS', message: what, expected: 'running guest tools' } as const;
  const text = inConflict(silent);
  assert.match(text, /\*\*Conflict NO_GUEST_TOOLS\*\*: web-03: the guest tools of \/dc1\/vm\/web-03 do not run/);
  assert.doesNotMatch(text, /NO_GUEST_TOOLS:/);
});

test('what goes on within a Conflict is told beside it', () => {
  assert.ok(blocks(inConflict(finding, 'switching the source on again')).includes('switching the source on again'));
});

test('one that needs nobody has its message, its trouble, its window and its steps, and nothing to send', () => {
  const target = { ...emptyTarget, exists: true };
  const entry = anEntry({ target, window: { name: 'sat', end: at, capacity: 0 } });
  const around = { name: 'web-03', trouble: 'vc1 does not answer', waitingFor: 'window', next: [cancel] } as const;
  const text = entryDetails(entry, around);
  const [headline, message, trouble] = blocks(text);
  assert.deepEqual(headline?.split('  \n'), [
    '**web-03**: vc1/dc1/vm/web-03 → tgt/p1: Idle',
    `since ${atInWords} · waiting for its window`,
  ]);
  assert.deepEqual([message, trouble], ['waits for its window', 'Held up: vc1 does not answer']);
  assert.ok(blocks(text).includes(`window sat, ends ${atInWords}`));
  assert.match(text, /^✔ Check whether it can migrate {2}$/m);
  assert.doesNotMatch(text, /Send an Update/);
});

test('that the source is off is told in the downtime, and at no other time', () => {
  const off = { ...power, powered_off_by_us_at: at };
  const told = (over: Partial<Entry>): boolean =>
    blocks(entryDetails(anEntry(over), { name: 'web-03', trouble: undefined, next: [] })).includes(
      `**In its downtime since ${atInWords}:** its source is switched off.`,
    );
  assert.ok(told({ status: 'Conflict', stage: 'complete', conflict: finding, source_power: off }));
  assert.ok(told({ status: 'Performing final import tasks', stage: 'final', source_power: off }));
  assert.ok(!told({ status: 'Performing final import tasks', stage: 'final' }), 'it is about to be');
  assert.ok(!told({ status: 'Conflict', stage: 'final', conflict: finding }));
  assert.ok(!told({ status: 'Canceled', stage: 'complete', source_power: { ...off, restored_at: at } }));
  assert.ok(!told({ status: 'Finished', stage: 'complete', source_power: off }), 'its target runs');
});

test('an Error is told once, with its code', () => {
  const error = { code: 'IDENTITY_NAME', message: 'it was renamed', expected: 'a', found: 'b' } as const;
  const entry = anEntry({ status: 'Error', message: 'IDENTITY_NAME: it was renamed', error });
  const text = entryDetails(entry, { name: 'web-03', trouble: undefined, next: [cancel] });
  assert.ok(blocks(text).includes('**IDENTITY_NAME**: it was renamed'));
  assert.equal(text.split('it was renamed').length, 2, text);
});

test('text from outside means nothing to Markdown', () => {
  const text = inConflict({ ...finding, message: 'no network *lan* <b>', found: 'a | b' });
  assert.match(text, /no network \\\*lan\\\* \\<b\\>/);
  assert.match(text, /- found: a \\\| b/);
});
