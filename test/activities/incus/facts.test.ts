import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failure, marks, newInstance, useSim, uuid } from './builders.ts';

const rig = useSim();

describe('facts of a project', () => {
  test('are its networks and instances, and the pools of the target', async () => {
    rig.sim.addNetwork('uplink', { type: 'physical', config: {} });
    rig.sim.addNetwork('eno1', { type: 'physical', managed: false, config: {} });
    await rig.sim.addInstance({ name: 'web' });
    assert.deepEqual(await rig.target.facts('default'), {
      target: 'tgt',
      project: 'default',
      project_exists: true,
      pools: [
        { name: 'default', driver: 'dir' },
        { name: 'fast', driver: 'zfs' },
      ],
      networks: [
        { name: 'incusbr0', managed: true, type: 'bridge', ipv4: '10.1.0.1/24' },
        { name: 'uplink', managed: true, type: 'physical', ipv4: '' },
        { name: 'eno1', managed: false, type: 'physical', ipv4: '' },
      ],
      instances: ['web'],
    });
  });

  test('of another project name its own instances only', async () => {
    rig.sim.addProject('p2');
    await rig.sim.addInstance({ name: 'web' });
    await rig.sim.addInstance({ name: 'db', project: 'p2' });
    const facts = await rig.target.facts('p2');
    assert.deepEqual(facts.instances, ['db']);
    assert.deepEqual(
      facts.networks.map(({ name }) => name),
      ['incusbr0'],
    );
  });

  test('say when there is no such project', async () => {
    const facts = await rig.target.facts('nope');
    assert.equal(facts.project_exists, false);
    assert.deepEqual(facts.instances, []);
  });

  test('are not guessed: a list that fails is a failure', async () => {
    rig.sim.faults.add({ path: /\/networks$/, effect: { kind: 'status', status: 500, error: 'database is locked' } });
    assert.match((await failure(rig.target.facts('default'), 'SERVER')).message, /database is locked/);
  });
});

describe('looking for an instance', () => {
  test('answers undefined where there is none, and where there is no such project', async () => {
    assert.equal(await rig.target.find('default', 'web'), undefined);
    assert.equal(await rig.target.find('nope', 'web'), undefined);
    assert.equal(await rig.target.state('default', 'web'), undefined);
  });

  test('one that is not ours has no marks', async () => {
    await rig.sim.addInstance({ name: 'web', running: true, config: { 'user.migration_source': 'vc1' } });
    assert.deepEqual(await rig.target.find('default', 'web'), {
      project: 'default',
      name: 'web',
      fence: 0,
      status: 'running',
    });
  });

  test('one that is ours has the marks it was created with', async () => {
    const wanted = marks({ attempt: 7, running: false, batch: 'b9', source: 'vc2' });
    await rig.target.create(newInstance(1, { marks: wanted }));
    const found = await rig.target.find('default', 'web');
    assert.deepEqual(found, { project: 'default', name: 'web', fence: 0, status: 'stopped', marks: wanted });
  });
});

test('instances of entries are listed over all projects, those of others and finished ones are not', async () => {
  rig.sim.addProject('p2');
  await rig.target.create(newInstance());
  await rig.target.create(newInstance(1, { project: 'p2', name: 'db', marks: marks({ uuid: 'other' }) }));
  await rig.target.create(newInstance(1, { name: 'done', marks: marks({ uuid: 'done' }) }));
  await rig.target.release('default', 'done', marks({ uuid: 'done' }), '2026-08-01T00:00:00Z');
  await rig.sim.addInstance({ name: 'foreign' });
  const owned = await rig.target.listOwned();
  assert.deepEqual(
    owned.map(({ project, name, marks }) => [project, name, marks.uuid]),
    [
      ['default', 'web', uuid],
      ['p2', 'db', 'other'],
    ],
  );
});

test('the state of an instance says when the agent in the guest answers', async () => {
  rig.sim.settings.agentMs = 'never';
  await rig.sim.addInstance({ name: 'web' });
  assert.deepEqual(await rig.target.state('default', 'web'), { status: 'stopped', processes: 0 });
  rig.sim.setPower('default', 'web', true);
  assert.deepEqual(await rig.target.state('default', 'web'), { status: 'running', processes: -1 });
  rig.sim.settings.agentMs = 0;
  assert.ok(((await rig.target.state('default', 'web'))?.processes ?? 0) > 0);
});
