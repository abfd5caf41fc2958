import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFaults } from '../../sim/node-agent/faults.ts';

const at = (vm: string, node = 'node-a', pod: Readonly<Record<string, string>> = {}) => ({ vm, node, pod });

test('a fault strikes as often as it was set, where it was set', () => {
  const faults = createFaults(() => ({}));
  const handle = faults.set('saveFails', { vm: 'vk-1', times: 2, delayMs: 7 });
  assert.equal(faults.take('saveFails', at('vk-2')), undefined);
  assert.equal(faults.take('pushFails', at('vk-1')), undefined);
  assert.deepEqual(faults.take('saveFails', at('vk-1')), { delayMs: 7 });
  assert.equal(faults.has('saveFails', at('vk-1')), true);
  assert.deepEqual(faults.take('saveFails', at('vk-1', 'node-b')), { delayMs: 7 });
  assert.deepEqual([faults.take('saveFails', at('vk-1')), handle.struck()], [undefined, 2]);
});

test('a fault of a node strikes every VM there until it is cleared', () => {
  const faults = createFaults(() => ({}));
  const handle = faults.set('pushFails', { node: 'node-b', times: Infinity });
  assert.equal(faults.take('pushFails', at('vk-1')), undefined);
  for (const vm of ['vk-1', 'vk-2', 'vk-1']) assert.ok(faults.take('pushFails', at(vm, 'node-b')));
  handle.clear();
  assert.equal(faults.has('pushFails', at('vk-1', 'node-b')), false);
  faults.set('pushFails');
  faults.clear('pushFails');
  assert.equal(faults.take('pushFails', at('vk-1')), undefined);
});

test('a kill strikes at its step only, and one without a chance never', () => {
  const faults = createFaults(() => ({}));
  faults.set('killAt', { step: 'hibernate-5' });
  faults.set('saveFails', { probability: 0, times: Infinity });
  assert.equal(faults.take('killAt', at('vk-1'), 'hibernate-4'), undefined);
  assert.deepEqual(faults.take('killAt', at('vk-1'), 'hibernate-5'), { delayMs: 0 });
  assert.equal(faults.take('killAt', at('vk-1'), 'hibernate-5'), undefined);
  assert.equal(faults.take('saveFails', at('vk-1')), undefined);
});

test('annotations of a Pod, then of its Node, say the same', () => {
  const faults = createFaults((node) => (node === 'node-a' ? { 'test/agent-push-fails': '1' } : {}));
  const noted = at('vk-1', 'node-b', { 'test/agent-save-fails': '2 30ms', 'test/agent-kill-at': 'wake-3 1s' });
  assert.deepEqual(faults.take('saveFails', noted), { delayMs: 30 });
  assert.deepEqual(faults.take('saveFails', noted), { delayMs: 30 });
  assert.equal(faults.take('saveFails', noted), undefined);
  assert.equal(faults.take('killAt', noted, 'wake-2'), undefined);
  assert.deepEqual(faults.take('killAt', noted, 'wake-3'), { delayMs: 1_000 });
  assert.equal(faults.take('killAt', noted, 'wake-3'), undefined);
  assert.equal(faults.take('pushFails', noted), undefined);
  assert.deepEqual(faults.take('pushFails', at('vk-1')), { delayMs: 0 });
  assert.equal(faults.take('pushFails', at('vk-2')), undefined);
});
