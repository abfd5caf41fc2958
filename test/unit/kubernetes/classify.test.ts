import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isAbsent, noAnswer, toClusterError } from '../../../activities/kubernetes/classify.ts';
import type { ApiAnswer } from '../../../activities/kubernetes/transport.ts';
import { statusAnswer } from './answers.ts';

const attempt = 'patch VirtualMachine shop/db-0';
const prefix = 'admission webhook "vmops.example" denied the request';
const html = '<html>secret-cookie=abc</html>';

describe('what a refusal means', () => {
  const table: readonly (readonly [what: string, answer: ApiAnswer, reason: string, message: RegExp])[] = [
    ['401 without a body', { status: 401, text: '' }, 'Unauthorized', /refused to patch .* \(401\): it gave no reason/],
    ['403', statusAnswer(403, { message: 'User "x" cannot patch' }), 'Forbidden', /\(403\): User "x" cannot patch/],
    ['403 of a webhook', statusAnswer(403, { message: `${prefix}: finish first` }), 'Denied', /^finish first$/],
    ['400 of a webhook', statusAnswer(400, { message: `${prefix}: no` }), 'Denied', /^no$/],
    ['a webhook without words', statusAnswer(403, { message: prefix }), 'Denied', /^an admission webhook denied/],
    ['404', statusAnswer(404, { reason: 'NotFound', message: 'not found' }), 'NotFound', /\(404\): not found/],
    ['404 page', { status: 404, text: '404 page not found\n' }, 'NotFound', /does not know that kind of object/],
    ['409 on a name', statusAnswer(409, { reason: 'AlreadyExists' }), 'AlreadyExists', /409/],
    ['409 on a precondition', statusAnswer(409, { reason: 'Conflict' }), 'Conflict', /409/],
    ['422 by a rule', statusAnswer(422, { message: 'm', details: { causes: [{}] } }), 'Invalid', /\(422\): m/],
    ['422 by a patch test', statusAnswer(422, { message: 'm', details: {} }), 'Conflict', /not as the patch expects/],
    ['422 with no causes', statusAnswer(422, { details: { causes: [] } }), 'Conflict', /422/],
    ['429', statusAnswer(429, { message: 'later' }), 'TooManyRequests', /later/],
    [
      '500 webhook down',
      statusAnswer(500, { message: 'failed calling webhook "x"' }),
      'Unavailable',
      /failed to patch/,
    ],
    ['503', { status: 503, text: html }, 'Unavailable', /\(503\): it gave no reason/],
    ['504', statusAnswer(504, { message: 'timed out' }), 'Unavailable', /timed out/],
    ['415', statusAnswer(415, { message: 'media type' }), 'Other', /media type/],
    ['400', statusAnswer(400, { message: 'bad' }), 'Other', /bad/],
  ];
  for (const [what, answer, reason, message] of table) {
    test(`${what} is ${reason}`, () => {
      const error = toClusterError(answer, attempt);
      assert.equal(error.reason, reason);
      assert.equal(error.status, answer.status);
      assert.match(error.message, message);
    });
  }

  test('a body that is no Status is never repeated', () => {
    for (const status of [400, 401, 403, 404, 500, 503])
      assert.doesNotMatch(toClusterError({ status, text: html }, attempt).message, /secret-cookie/);
  });

  test('long words are cut', () => {
    assert.ok(toClusterError(statusAnswer(400, { message: 'x'.repeat(9_000) }), attempt).message.length < 1_100);
  });

  test('when to ask again comes from the header, else from the body', () => {
    const body = statusAnswer(429, { details: { retryAfterSeconds: 7 } });
    assert.equal(toClusterError(body, attempt).retryAfterS, 7);
    assert.equal(toClusterError({ ...body, retryAfterS: 1 }, attempt).retryAfterS, 1);
  });
});

describe('not there', () => {
  for (const [what, answer, absent] of [
    ['this very object', statusAnswer(404, { reason: 'NotFound', details: { name: 'db-0' } }), true],
    ['another one, such as its namespace', statusAnswer(404, { reason: 'NotFound', details: { name: 'shop' } }), false],
    ['a kind that is not installed', { status: 404, text: '404 page not found' }, false],
    ['some proxy between', { status: 404, text: html }, false],
    ['another status', statusAnswer(410, { reason: 'NotFound', details: { name: 'db-0' } }), false],
  ] as const)
    test(`${what}: ${absent}`, () => assert.equal(isAbsent(answer, 'db-0'), absent));
});

describe('no answer', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6443'), { code: 'ECONNREFUSED' });
  for (const [what, error, words] of [
    ['nobody listens', new TypeError('fetch failed', { cause: refused }), /ECONNREFUSED 127\.0\.0\.1:6443/],
    ['too late', new DOMException('The operation was aborted', 'TimeoutError'), /not within the deadline/],
    ['several addresses', new TypeError('x', { cause: new AggregateError([refused]) }), /ECONNREFUSED/],
    ['something thrown', 'boom', /boom/],
  ] as const)
    test(`${what}: the effect is unknown`, () => {
      const error_ = noAnswer(error, attempt);
      assert.equal(error_.reason, 'Unavailable');
      assert.equal(error_.status, undefined);
      assert.match(error_.message, words);
      assert.match(error_.message, /patch VirtualMachine shop\/db-0/);
    });
});
