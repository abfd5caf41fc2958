import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaKinds } from '../../../client/output/schemas.ts';
import { kindOfDocument, publishedKinds, unpublishedFields } from '../../support/cli-documents.ts';
import { kindsInHelp } from './printed-kinds.ts';

/** What they print is no document, whatever `-o` says. */
const withoutDocuments = ['completion', 'complete', 'schema'];

test('every command has its documents of -o json in its help, and each has a published schema', () => {
  assert.ok(kindsInHelp.size >= 60, `only ${kindsInHelp.size} commands`);
  const published = new Set<string>(schemaKinds);
  for (const [command, kinds] of kindsInHelp) {
    assert.equal(kinds.length === 0, withoutDocuments.includes(command), command);
    assert.deepEqual(
      kinds.filter((kind) => !published.has(kind)),
      [],
      command,
    );
  }
});

test('every published schema is that of a document that some command prints, or of its errors', () => {
  const printed = new Set([...kindsInHelp.values()].flat());
  assert.deepEqual(new Set(schemaKinds), printed.add('Error'));
});

const link = 'http://localhost:8233/x';
const good = { apiVersion: 'vmflow.dev/v1', kind: 'Link', id: 'x', link };
const bad: readonly (readonly [what: string, document: object, why: RegExp])[] = [
  ['of a kind that is not published', { ...good, kind: 'Nope' }, /open: of no published kind: .*Nope/],
  ['without a field', { ...good, id: undefined }, /open: not as published: .*id/s],
  ['with a field of another type', { ...good, link: 'nowhere' }, /open: not as published: .*link/s],
];
for (const [what, document, why] of bad)
  test(`the check of all tests of commands fails for a document ${what}`, () => {
    assert.equal(kindOfDocument(good, 'open'), 'Link');
    assert.throws(() => kindOfDocument(document, 'open'), why);
    const stdout = JSON.stringify(document);
    for (const flags of [['-o', 'json'], ['--output=json'], ['-o', 'jsonl']])
      assert.throws(() => publishedKinds(['open', ...flags], { stdout, stderr: '' }), /of no|not as published/);
  });

test('the check of all tests of commands fails for a second document, for a record and for an error that are not as published', () => {
  const text = JSON.stringify(good);
  assert.throws(
    () => publishedKinds(['open', '-o', 'json'], { stdout: `${text}\n${text}\n`, stderr: '' }),
    SyntaxError,
  );
  assert.throws(
    () => publishedKinds(['history', 'export'], { stdout: '{"id":"x"}\n', stderr: '' }),
    /not as published/,
  );
  const stderr = '{"error":{"code":1}}\n';
  assert.throws(() => publishedKinds(['open', '-o', 'json'], { stdout: '', stderr }), /not as published/);
});

test('the check of all tests of commands finds fields that the schema does not name, however deep', () => {
  const drain = {
    ...{ id: 'd', since: '2026-03-01T13:10:00Z', extra: 1 },
    blocked: [{ set: 'shop/web', colour: 'red' }],
  };
  const node = { apiVersion: 'vmflow.dev/v1', kind: 'Node', name: 'node-a', drain };
  assert.deepEqual(unpublishedFields(node, 'Node'), ['Node.drain.extra', 'Node.drain.blocked[].colour']);
  assert.deepEqual(unpublishedFields({ ...good, more: [] }, 'Link'), ['Link.more']);
  const placement = { storage_pools: { any: 'local' }, networks: { 'net-1': { network: 'br0', mtu: 9000 } } };
  assert.deepEqual(unpublishedFields({ placement }, 'QueueEntry'), ['QueueEntry.placement.networks.net-1.mtu']);
});
