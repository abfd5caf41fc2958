import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { waitFor } from '../../../support/wait-for.ts';
import type { ContractRig, Told } from './rig.ts';

const vm = (name: string, more: object = {}): object => ({
  name,
  type: 'virtual-machine',
  source: { type: 'none' },
  profiles: ['default'],
  description: 'a note',
  config: { 'user.note': 'one' },
  devices: { root: { type: 'disk', path: '/', pool: 'default' } },
  ...more,
});

const order = (action: string): { body: object } => ({ body: { action, timeout: -1, force: true, stateful: false } });

/** What the adapter takes for granted of any server, below the adapter. */
export function protocolContract(rig: ContractRig): void {
  const create = async (name: string, query = ''): Promise<void> => {
    const { code, err } = await rig.operation('POST', `/1.0/instances${query}`, { body: vm(name) });
    assert.equal(code, 200, err);
  };

  describe('answers', () => {
    test('that are good carry no error, and those that are bad say why', async () => {
      const good = await rig.raw('GET', '/1.0/projects/default');
      assert.equal(good.status, 200);
      assert.deepEqual([good.type, good.statusCode, good.error, good.errorCode], ['sync', 200, '', 0]);
      const bad = await rig.raw('GET', '/1.0/instances/nope');
      assert.equal(bad.status, 404);
      assert.deepEqual([bad.type, bad.statusCode, bad.errorCode], ['error', 0, 404]);
      assert.equal(bad.error, 'Instance not found');
    });

    for (const path of ['/1.0/nope', '/1.0/projects/nope', '/1.0/storage-pools/nope', '/1.0/operations/nope'])
      test(`of what is not there are 404: ${path}`, async () => {
        const { status, type, errorCode } = await rig.raw('GET', path);
        assert.deepEqual([status, type, errorCode], [404, 'error', 404]);
      });

    test('of lists of a project that is not there are empty, not refused', async () => {
      const { status, list } = await rig.raw('GET', '/1.0/instances?project=nope');
      assert.deepEqual([status, list], [200, []]);
    });

    test('name objects by URLs, with their project where it is not the default', async () => {
      await rig.server.addProject('p2');
      await create('a');
      await create('b', '?project=p2');
      assert.deepEqual((await rig.raw('GET', '/1.0/instances')).list, ['/1.0/instances/a']);
      const others = await rig.raw('GET', '/1.0/instances?project=p2');
      assert.deepEqual(others.list, ['/1.0/instances/b?project=p2']);
    });

    test('about members of a cluster are refused where there is none', async () => {
      assert.equal((await rig.raw('GET', '/1.0/cluster/members')).status, 500);
    });
  });

  describe('creating', () => {
    test('a name that is taken is accepted first and fails then', async () => {
      await create('a');
      const { code, err } = await rig.operation('POST', '/1.0/instances', { body: vm('a') });
      assert.equal(code, 400);
      assert.match(err, /already exists/);
    });

    for (const [what, more] of [
      ['an unknown pool', { devices: { root: { type: 'disk', path: '/', pool: 'nope' } } }],
      ['an unknown key', { config: { 'no.such.key': '1' } }],
      ['a bad value', { config: { 'limits.cpu': 'many' } }],
      [
        'an unknown network',
        { devices: { root: { type: 'disk', path: '/', pool: 'default' }, eth0: { type: 'nic', network: 'nope' } } },
      ],
      ['an unknown device option', { devices: { root: { type: 'disk', path: '/', pool: 'default', nope: '1' } } }],
      ['no root disk', { devices: {} }],
    ] as const)
      test(`${what} is accepted first and fails then, and leaves nothing`, async () => {
        const { code } = await rig.operation('POST', '/1.0/instances', { body: vm('a', more) });
        assert.equal(code, 400);
        assert.equal((await rig.raw('GET', '/1.0/instances/a')).status, 404);
      });

    test('a name that none can have is refused at once', async () => {
      const { status } = await rig.raw('POST', '/1.0/instances', { body: vm('a_b') });
      assert.equal(status, 400);
    });

    test('a field of a wrong type is refused at once', async () => {
      const { status } = await rig.raw('POST', '/1.0/instances', { body: vm('a', { config: { 'user.a': 1 } }) });
      assert.equal(status, 400);
    });

    test('in a project that is not there is refused at once', async () => {
      const { status } = await rig.raw('POST', '/1.0/instances?project=nope', { body: vm('a') });
      assert.equal(status, 404);
    });
  });

  describe('an operation', () => {
    test('is known for a while after its end, and then is not', async () => {
      const { id } = await rig.operation('POST', '/1.0/instances', { body: vm('a') });
      const { told } = await rig.raw('GET', `/1.0/operations/${id}`);
      assert.equal(told.status_code, 200);
      assert.deepEqual(told.resources['instances'], ['/1.0/instances/a']);
      await waitFor('it to be forgotten', async () => (await rig.raw('GET', `/1.0/operations/${id}`)).status === 404);
      assert.equal((await rig.raw('GET', `/1.0/operations/${id}/wait?timeout=1`)).status, 404);
    });

    test('is listed under its status', async () => {
      const { id } = await rig.operation('POST', '/1.0/instances', { body: vm('a') });
      const { told } = await rig.raw('GET', '/1.0/operations?recursion=1');
      const { success } = told as unknown as { readonly success: readonly { readonly id: string }[] };
      assert.ok(success.some((one) => one.id === id));
    });
  });

  describe('changing', () => {
    const read = async (): Promise<{ readonly etag: string | undefined; readonly told: Told }> => {
      const { etag, told } = await rig.raw('GET', '/1.0/instances/a');
      return { etag, told };
    };

    test('the ETag stays while nothing changes or only the description does, and changes with the configuration', async () => {
      await create('a');
      const { etag, told } = await read();
      assert.ok(etag);
      assert.equal((await read()).etag, etag);
      // All that was read is accepted back.
      const { code, err } = await rig.operation('PUT', '/1.0/instances/a', {
        body: { ...told, description: 'new' },
        etag,
      });
      assert.equal(code, 200, err);
      const changed = await read();
      assert.deepEqual([changed.told.description, changed.etag], ['new', etag]);
      const config = { ...told.config, 'user.note': 'two' };
      await rig.operation('PUT', '/1.0/instances/a', { body: { ...told, config }, etag });
      assert.notEqual((await read()).etag, etag);
    });

    for (const [what, etag] of [
      ['another ETag', 'a455df38ef9bf098961c886086f82f80808a969ca8dd2308d29712f81539f6d0'],
      ['any ETag', '*'],
    ] as const)
      test(`${what} is refused with 412, and nothing changes`, async () => {
        await create('a');
        const before = await read();
        const { status } = await rig.raw('PUT', '/1.0/instances/a', {
          body: { ...before.told, description: 'new' },
          etag,
        });
        assert.equal(status, 412);
        assert.deepEqual(await read(), before);
      });

    test('what a PUT leaves out is gone', async () => {
      await create('a');
      const { profiles, description, ...body } = (await read()).told;
      assert.deepEqual([profiles, description], [['default'], 'a note']);
      const { code, err } = await rig.operation('PUT', '/1.0/instances/a', { body });
      assert.equal(code, 200, err);
      const after = (await read()).told;
      assert.deepEqual([after.profiles, after.description], [[], '']);
    });

    test('an unknown key fails, and nothing changes', async () => {
      await create('a');
      const { told } = await read();
      const config = { ...told.config, 'no.such.key': '1' };
      const answer = await rig.raw('PUT', '/1.0/instances/a', { body: { ...told, config } });
      if (answer.status === 202) {
        const ended = await rig.raw('GET', `/1.0/operations/${answer.told.id}/wait?timeout=20`);
        assert.equal(ended.told.status_code, 400);
      } else assert.equal(answer.status, 400);
      assert.deepEqual((await read()).told, told);
    });
  });

  describe('power', () => {
    test('what it is already is accepted first and fails then', async () => {
      await create('a');
      assert.equal((await rig.operation('PUT', '/1.0/instances/a/state', order('stop'))).code, 400);
      assert.equal((await rig.operation('PUT', '/1.0/instances/a/state', order('start'))).code, 200);
      assert.equal((await rig.operation('PUT', '/1.0/instances/a/state', order('start'))).code, 400);
      assert.equal((await rig.raw('GET', '/1.0/instances/a/state')).told.status, 'Running');
      assert.equal((await rig.operation('PUT', '/1.0/instances/a/state', order('stop'))).code, 200);
      assert.equal((await rig.raw('GET', '/1.0/instances/a/state')).told.status, 'Stopped');
    });

    test('an instance that runs can not be deleted', async () => {
      await create('a');
      await rig.operation('PUT', '/1.0/instances/a/state', order('start'));
      assert.equal((await rig.raw('DELETE', '/1.0/instances/a')).status, 400);
      await rig.operation('PUT', '/1.0/instances/a/state', order('stop'));
      assert.equal((await rig.operation('DELETE', '/1.0/instances/a')).code, 200);
    });
  });
}
