import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { finalChange, withoutNicsInTheWay } from '../../../../activities/incus/final-configuration.ts';
import type { Instance } from '../../../../activities/incus/instances.ts';
import { ownerOf } from '../../../../activities/incus/marks.ts';
import type { FinalConfiguration } from '../../../../activities/incus/port.ts';
import { instanceMarks } from '../../../../activities/incus/marks.ts';

const owner = { uuid: 'u-1', batch: 'b1', attempt: 3, running: true, source: 'vc1' };

const networks = [
  { name: 'br0', managed: true, type: 'bridge', ipv4: '10.0.0.1/24' },
  { name: 'flat', managed: true, type: 'bridge', ipv4: 'none' },
  { name: 'up', managed: true, type: 'physical', ipv4: '' },
];

const nic = fc.record({
  hwaddr: fc.constant('00:16:3e:00:00:01'),
  network: fc.constantFrom('br0', 'flat', 'up', 'eno1'),
  nictype: fc.constantFrom('bridged', 'physical', 'managed'),
  vlan_id: fc.constantFrom('', '7', '7,8', '7-9'),
  ipv4_address: fc.constantFrom('', '10.0.0.9'),
});

const final: fc.Arbitrary<FinalConfiguration> = fc.record({
  project: fc.constant('default'),
  name: fc.constant('web'),
  marks: fc.constant(owner),
  cpus: fc.integer({ min: 1, max: 64 }),
  memory: fc.integer({ min: 1, max: 2 ** 40 }),
  legacyBoot: fc.boolean(),
  secureBoot: fc.boolean(),
  tpm: fc.boolean(),
  nics: fc.array(nic, { maxLength: 4 }),
  description: fc.string(),
  config: fc.dictionary(fc.constantFrom('image.os', 'user.comment', 'limits.cpu'), fc.string()),
});

const current: fc.Arbitrary<Instance> = fc.record({
  name: fc.constant('web'),
  status: fc.constant('Stopped'),
  location: fc.constant('none'),
  description: fc.string(),
  profiles: fc.constantFrom(undefined, null, [], ['default'], ['a', 'default']),
  config: fc
    .dictionary(fc.constantFrom('migration.stateful', 'security.csm', 'volatile.x', 'limits.cpu'), fc.string())
    .map((config) => ({ ...config, ...instanceMarks(owner) })),
  devices: fc.dictionary(
    fc.constantFrom('eth0', 'eth9', 'net', 'vtpm', 'root', 'disk1'),
    fc.constantFrom({ type: 'nic', network: 'br0' }, { type: 'disk', pool: 'p' }, { type: 'tpm' }),
  ),
});

const seeds = { numRuns: 500 };

test('what it makes of an instance needs no change any more', () => {
  fc.assert(
    fc.property(current, final, (instance, wanted) => {
      const change = finalChange(instance, wanted, networks);
      if (change === undefined) return;
      const { profiles, ...rest } = change;
      const changed = { ...instance, ...rest, profiles: [...(profiles ?? [])] } as Instance;
      assert.equal(finalChange(changed, wanted, networks), undefined);
    }),
    seeds,
  );
});

test('disks, marks and what the server keeps for itself stay; NICs are those that were asked for', () => {
  fc.assert(
    fc.property(current, final, (instance, wanted) => {
      const { config = instance.config, devices = instance.devices } = finalChange(instance, wanted, networks) ?? {};
      assert.equal(ownerOf(config)?.attempt, 3);
      assert.equal(config['volatile.x'], instance.config['volatile.x']);
      for (const [name, device] of Object.entries(instance.devices))
        if (device['type'] === 'disk' && name !== 'vtpm' && !/^eth[0-3]$/.test(name))
          assert.deepEqual(devices[name], device);
      const names = Object.keys(devices).filter((name) => devices[name]!['type'] === 'nic');
      assert.deepEqual(
        names.sort(),
        wanted.nics.map((_nic, index) => `eth${index}`),
      );
      for (const name of names) assert.equal('network' in devices[name]!, !('parent' in devices[name]!));
      assert.equal('vtpm' in devices, wanted.tpm);
      assert.equal(config['migration.stateful'], wanted.tpm ? 'false' : undefined);
      assert.ok(!(config['security.csm'] === 'true' && config['security.secureboot'] === 'true'));
      assert.equal(config['limits.cpu'], String(wanted.cpus));
    }),
    seeds,
  );
});

test('what is added never meets a NIC of another name on the same network that is still there and is not to stay', () => {
  const networkOf = (nic: Readonly<Record<string, string>>): string | undefined => nic['network'] ?? nic['parent'];
  fc.assert(
    fc.property(current, final, (instance, wanted) => {
      const first = withoutNicsInTheWay(instance, wanted, networks);
      const between = { ...instance, ...first } as Instance;
      const after = { ...between, ...finalChange(between, wanted, networks) } as Instance;
      for (const [name, nic] of Object.entries(after.devices).filter(([, { type }]) => type === 'nic'))
        for (const [other, old] of Object.entries(between.devices).filter(([, { type }]) => type === 'nic'))
          if (other !== name && networkOf(old) === networkOf(nic)) assert.deepEqual(after.devices[other], old);
      // Nothing else is touched.
      const gone = Object.keys(instance.devices).filter((name) => between.devices[name] === undefined);
      assert.ok(gone.every((name) => instance.devices[name]?.['type'] === 'nic'));
    }),
    seeds,
  );
});
