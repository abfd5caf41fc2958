import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stringify } from 'yaml';
import { parseConfig } from '../../../activities/config.ts';
import { readSettings } from '../../../workers/settings.ts';

const parsed = (webhook: object) => parseConfig(stringify({ webhook }), 'vmflow.yaml').webhook;

describe('the section "webhook" of vmflow.yaml', () => {
  test('says nothing where everything is usual: a service in the cluster, certificates made here', () => {
    assert.deepEqual(parsed({}), {
      listen: '0.0.0.0:9443',
      service: { namespace: 'vmflow', name: 'vmflow-bridge', port: 443 },
      timeoutSeconds: 2,
      certificateDays: 30,
    });
  });

  test('may be missing: there is no webhook', () => assert.equal(parseConfig('{}', 'vmflow.yaml').webhook, undefined));

  const wrong: readonly (readonly [string, object, RegExp])[] = [
    ['an address without a port', { listen: '0.0.0.0' }, /webhook\.listen/],
    ['an address that is not encrypted', { url: 'http://a.example/admit' }, /webhook\.url/],
    ['another path', { url: 'https://a.example/' }, /is https:\/\/host:port\/admit/],
    ['a query behind the path', { url: 'https://a.example/admit?x=1' }, /is https:\/\/host:port\/admit/],
    ['credentials in the address', { url: 'https://u:p@a.example/admit' }, /is https:\/\/host:port\/admit/],
    ['more patience than the API server has', { timeoutSeconds: 31 }, /webhook\.timeoutSeconds/],
    ['a certificate without its key', { certFile: 'a' }, /certFile and keyFile, or neither/],
    ['an authority without a certificate', { caFile: 'a' }, /caFile only beside certFile/],
    ['a word that nobody knows', { port: 1 }, /port/],
  ];
  for (const [what, webhook, message] of wrong)
    test(`is refused with ${what}`, () => assert.throws(() => parsed(webhook), message));
});

describe('the section "history" of vmflow.yaml', () => {
  const history = (section: object) => parseConfig(stringify({ history: section }), 'vmflow.yaml').history;

  test('needs only the file', () => assert.deepEqual(history({ file: '/a' }), { file: '/a', everyMs: 15_000 }));

  test('may be missing: no record is kept', () => assert.equal(parseConfig('{}', 'vmflow.yaml').history, undefined));

  test('is refused without a file, and with a word that nobody knows', () => {
    assert.throws(() => history({}), /history\.file/);
    assert.throws(() => history({ file: '' }), /history\.file/);
    assert.throws(() => history({ file: '/a', keep: 1 }), /keep/);
  });
});

test('the bridge has an address of its own for its health', () => {
  assert.deepEqual(readSettings('bridge', {}).healthAddress, { host: '127.0.0.1', port: 9466 });
  const elsewhere = { VMFLOW_HEALTH_ADDRESS: '0.0.0.0:8080' };
  assert.deepEqual(readSettings('bridge', elsewhere).healthAddress, { host: '0.0.0.0', port: 8080 });
  assert.throws(() => readSettings('bridge', { VMFLOW_HEALTH_ADDRESS: 'x' }), /VMFLOW_HEALTH_ADDRESS/);
});
