import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseReview, reviewAnswer } from '../../../workers/bridge/review.ts';

const spec = { type: 'Stop', virtualMachineName: 'db-0' };
const request = {
  uid: 'r',
  operation: 'CREATE',
  namespace: 'shop',
  object: { apiVersion: 'x/v1', metadata: { name: 'stop-1' }, spec: { ...spec, clone: { mode: 'Strict' } } },
};
const review = (more: object = {}, head: object = {}): string =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { ...request, ...more },
    ...head,
  });

describe('a review', () => {
  test('is read', () => {
    assert.deepEqual(parseReview(review()), { uid: 'r', namespace: 'shop', name: 'stop-1', spec, dryRun: false });
  });

  test('says that it is for a dry run', () => assert.equal(parseReview(review({ dryRun: true })).dryRun, true));

  const wrong: readonly (readonly [string, string])[] = [
    ['no JSON', 'x'],
    ['something else', '{}'],
    ['another version', review({}, { apiVersion: 'admission.k8s.io/v1beta1' })],
    ['another operation', review({ operation: 'UPDATE' })],
    ['an object without a spec', review({ object: { metadata: {} } })],
    ['a type that nobody knows', review({ object: { metadata: {}, spec: { ...spec, type: 'Sleep' } } })],
  ];
  for (const [what, text] of wrong)
    test(`is refused: ${what}`, () => assert.throws(() => parseReview(text), /is no admission review/));
});

test('a refusal carries its code, an admission carries nothing', () => {
  const head = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' };
  assert.deepEqual(reviewAnswer('r', { allowed: false, code: 403, message: 'no' }), {
    ...head,
    response: { uid: 'r', allowed: false, status: { code: 403, reason: 'Forbidden', message: 'no' } },
  });
  assert.deepEqual(reviewAnswer('r', { allowed: true }), { ...head, response: { uid: 'r', allowed: true } });
});
