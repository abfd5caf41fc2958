import assert from 'node:assert/strict';
import { test } from 'node:test';
import { behaviourOf, noDelays, parseDuration, parsePhaseDelays } from '../../sim/vm-layer/behaviour.ts';

test('durations are milliseconds, seconds or minutes', () => {
  const rows: readonly (readonly [string, number])[] = [
    ['250', 250],
    ['250ms', 250],
    ['3s', 3_000],
    ['1.5s', 1_500],
    ['2m', 120_000],
  ];
  for (const [text, ms] of rows) assert.equal(parseDuration(text, 'x'), ms);
  for (const text of ['', 's', '3h', '-1s'])
    assert.throws(() => parseDuration(text, 'test/boot-delay'), /test\/boot-delay/);
});

test('delays of a migration are one for all phases or some by name', () => {
  assert.equal(parsePhaseDelays('2s', 'x').Scheduling, 2_000);
  assert.equal(parsePhaseDelays('2s', 'x').Running, 2_000);
  assert.deepEqual(parsePhaseDelays('Scheduling=2s, Running=30s', 'x'), { Scheduling: 2_000, Running: 30_000 });
  assert.throws(() => parsePhaseDelays('Copying=2s', 'x'), /"Copying" is no phase .* PreparingTarget/);
});

test("a VM's annotations win over the delays of the layer", () => {
  const { delays } = behaviourOf({ 'test/boot-delay': '3s' }, { ...noDelays, bootDelay: 1, startDelay: 2 });
  assert.deepEqual([delays.bootDelay, delays.startDelay], [3_000, 2]);
});

test('a switch is on when it says "true"', () => {
  const behaviour = behaviourOf({ 'test/unschedulable': 'true', 'test/paused': 'false', other: 'true' }, noDelays);
  assert.ok(behaviour.is('unschedulable'));
  assert.ok(!behaviour.is('paused'));
  assert.ok(!behaviour.is('stuckAbort'));
});

test('a switch that is not known, or a phase that does not exist, is an error that lists what there is', () => {
  assert.throws(
    () => behaviourOf({ 'test/ignore-shut-down': 'true' }, noDelays),
    /no switch test\/ignore-shut-down.*test\/ignore-shutdown/,
  );
  assert.throws(
    () => behaviourOf({ 'test/migration-stuck-at': 'Syncing' }, noDelays),
    /test\/migration-stuck-at: "Syncing"/,
  );
});
