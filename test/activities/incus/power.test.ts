import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { waitFor } from '../../support/wait-for.ts';
import { failure, gate, useSim } from './builders.ts';

const rig = useSim();

const status = (): string => rig.sim.instance('default', 'web')!.status;
const onState = { method: 'PUT', path: /instances\/web\/state$/ } as const;
const orders = () => rig.sim.journal.requests('PUT', onState.path);

describe('starting', () => {
  test('starts what is stopped, and does nothing to what runs', async () => {
    await rig.sim.addInstance({ name: 'web' });
    await rig.target.start('default', 'web');
    assert.equal(status(), 'Running');
    await rig.target.start('default', 'web');
    assert.equal(orders().length, 1);
    assert.equal(rig.sim.journal.events('instance-started').length, 1);
  });

  test('thaws what is frozen', async () => {
    await rig.sim.addInstance({ name: 'web', running: true });
    rig.sim.instance('default', 'web')!.status = 'Frozen';
    await rig.target.start('default', 'web');
    assert.equal(status(), 'Running');
  });

  test('what does not exist is NOT_FOUND', async () => {
    assert.match(
      (await failure(rig.target.start('default', 'web'), 'NOT_FOUND')).message,
      /start web in project default/,
    );
  });

  test('that fails at its end is OPERATION_FAILED with the words of the server, tried once', async () => {
    await rig.sim.addInstance({ name: 'web' });
    rig.sim.faults.add({ ...onState, effect: { kind: 'fail-operation', error: 'KVM is missing' } });
    assert.match((await failure(rig.target.start('default', 'web'), 'OPERATION_FAILED')).message, /KVM is missing/);
    assert.equal(orders().length, 1);
  });

  test('whose answer is lost happens once (C16)', async () => {
    await rig.sim.addInstance({ name: 'web' });
    rig.sim.faults.add({ ...onState, effect: { kind: 'drop', when: 'after' } });
    await rig.target.start('default', 'web');
    assert.equal(status(), 'Running');
    assert.equal(rig.sim.journal.events('instance-started').length, 1);
  });

  test('that was begun by an attempt that died goes on, and is not begun again', async () => {
    await rig.sim.addInstance({ name: 'web' });
    const { passed, open } = gate();
    rig.sim.faults.add({ ...onState, effect: { kind: 'hold-operation', until: passed } });
    await failure(rig.target.start('default', 'web', { timeoutMs: 300 }), 'TIMEOUT');
    const next = rig.target.start('default', 'web');
    const looks = (): number => rig.sim.journal.requests('GET', /operations$/).length;
    await waitFor('the second attempt to wait for the first', () => looks() > 0);
    open();
    await next;
    assert.equal(orders().length, 2, 'the second one has found it busy, once');
    assert.equal(rig.sim.journal.events('instance-started').length, 1);
  });
});

describe('stopping', () => {
  for (const force of [true, false])
    test(`stops what runs, and does nothing to what is stopped or does not exist (force ${force})`, async () => {
      await rig.sim.addInstance({ name: 'web', running: true });
      await rig.target.stop('default', 'web', { force });
      assert.equal(status(), 'Stopped');
      await rig.target.stop('default', 'web', { force });
      await rig.target.stop('default', 'nothing', { force });
      assert.equal(orders().length, 1);
      assert.equal((orders()[0]!.body as { force: boolean }).force, force);
    });

  test('a guest that ignores it fails, forced it does not', async () => {
    await rig.sim.addInstance({ name: 'web', running: true });
    rig.sim.instance('default', 'web')!.ignoresShutdown = true;
    await failure(rig.target.stop('default', 'web', { force: false }), 'OPERATION_FAILED');
    assert.equal(status(), 'Running');
    await rig.target.stop('default', 'web', { force: true });
    assert.equal(status(), 'Stopped');
  });

  test('what is frozen is forced', async () => {
    await rig.sim.addInstance({ name: 'web', running: true });
    rig.sim.instance('default', 'web')!.status = 'Frozen';
    await rig.target.stop('default', 'web', { force: false });
    assert.equal(status(), 'Stopped');
  });

  test('that the guest did itself meanwhile is done', async () => {
    await rig.sim.addInstance({ name: 'web', running: true });
    const { passed, open } = gate();
    rig.sim.faults.add({ ...onState, effect: { kind: 'hold', until: passed } });
    const attempt = rig.target.stop('default', 'web', { force: true });
    await waitFor('the order', () => orders().length > 0);
    rig.sim.setPower('default', 'web', false);
    open();
    await attempt;
    assert.equal(rig.sim.journal.events('instance-stopped').length, 1);
  });

  test('a success that is none is SERVER: what is seen decides', async () => {
    await rig.sim.addInstance({ name: 'web', running: true });
    rig.sim.faults.add({ method: 'GET', path: /\/state$/, times: Infinity, effect: { kind: 'page', status: 200 } });
    await failure(rig.target.stop('default', 'web', { force: true }), 'PROTOCOL');
    assert.equal(orders().length, 0);
  });
});
