import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContractRig } from './rig.ts';

const all = '/1.0/storage-pools/default/volumes/custom';
const block = (name: string, config: object = {}): { body: object } => ({
  body: { name, type: 'custom', content_type: 'block', config, description: 'a disk' },
});

/** What the adapter takes for granted of volumes. Some servers do these things at once, some in the background. */
export function volumeContract(rig: ContractRig): void {
  const ends = async (...[method, path, request]: Parameters<ContractRig['raw']>): Promise<number> => {
    const { status, told } = await rig.raw(method, path, request);
    if (status !== 202) return status;
    return (await rig.raw('GET', `/1.0/operations/${told.id}/wait?timeout=20`)).told.status_code;
  };

  describe('a block volume', () => {
    test('keeps the size that was asked for in its configuration, and is used by nobody', async () => {
      assert.equal(await ends('POST', all, block('v', { size: '5000000B', 'user.migration.uuid': 'u' })), 200);
      const { told, etag } = await rig.raw('GET', `${all}/v`);
      assert.ok(etag);
      assert.deepEqual(told.config, { size: '5000000B', 'user.migration.uuid': 'u' });
      assert.deepEqual([told.content_type, told.type, told.description], ['block', 'custom', 'a disk']);
      assert.deepEqual(told.used_by ?? [], []);
    });

    test('whose name is taken is refused with 409', async () => {
      await ends('POST', all, block('v', { size: '8MiB' }));
      assert.equal(await ends('POST', all, block('v', { size: '8MiB' })), 409);
    });

    test('can not shrink, and stays as it was', async () => {
      await ends('POST', all, block('v', { size: '16777216B' }));
      const { told } = await rig.raw('GET', `${all}/v`);
      assert.equal(await ends('PUT', `${all}/v`, { body: { ...told, config: { size: '8388608B' } } }), 500);
      assert.equal((await rig.raw('GET', `${all}/v`)).told.config['size'], '16777216B');
    });

    test('that is written as it was read stays the same, with another ETag it is refused', async () => {
      await ends('POST', all, block('v', { size: '8388608B', 'user.a': '1' }));
      const { told, etag } = await rig.raw('GET', `${all}/v`);
      const body = { ...told, config: { ...told.config, 'user.a': '2' } };
      assert.equal(await ends('PUT', `${all}/v`, { body, etag: 'another' }), 412);
      assert.equal(await ends('PUT', `${all}/v`, { body, etag: etag! }), 200);
      const after = await rig.raw('GET', `${all}/v`);
      assert.deepEqual(after.told.config, { size: '8388608B', 'user.a': '2' });
      assert.notEqual(after.etag, etag);
    });

    test('is listed in its project only, and is gone once it is deleted', async () => {
      await rig.server.addProject('p2');
      await ends('POST', `${all}?project=p2`, block('v', { size: '8MiB' }));
      const names = async (query: string): Promise<string[]> =>
        ((await rig.raw('GET', `${all}?recursion=1${query}`)).list as { name: string }[]).map(({ name }) => name);
      assert.deepEqual([await names(''), await names('&project=p2')], [[], ['v']]);
      assert.equal(await ends('DELETE', `${all}/v?project=p2`), 200);
      assert.equal(await ends('DELETE', `${all}/v?project=p2`), 404);
      assert.deepEqual(await names('&project=p2'), []);
    });

    test('in a pool or a project that is not there is refused with 404', async () => {
      const nowhere = '/1.0/storage-pools/nope/volumes/custom';
      assert.equal(await ends('POST', nowhere, block('v', { size: '8MiB' })), 404);
      assert.equal(await ends('POST', `${all}?project=nope`, block('v', { size: '8MiB' })), 404);
      assert.equal(await ends('GET', `${all}/nope`), 404);
    });
  });
}
