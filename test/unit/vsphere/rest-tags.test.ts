import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { afterEach, beforeEach, test } from 'node:test';

import type { ScriptedVCenter } from './scripted-vcenter.ts';
import { startScriptedVCenter } from './scripted-vcenter.ts';

const vm = { type: 'VirtualMachine', value: 'vm-42' };
const tagId = 'urn:vmomi:InventoryServiceTag:1:GLOBAL';
const categoryId = 'urn:vmomi:InventoryServiceCategory:2:GLOBAL';

let vcenter: ScriptedVCenter;
let requests: { readonly line: string; readonly token: unknown; readonly body: string }[];
let validToken: string;

beforeEach(async () => {
  vcenter = await startScriptedVCenter();
  requests = [];
  validToken = '';
});
afterEach(() => vcenter.close());

/** A REST API under one of the two roots. */
function serve(root: '/api' | '/rest/com/vmware', password = 'pass-word'): void {
  const prefix = root === '/api' ? '/api/cis/tagging' : `${root}/cis/tagging`;
  const item = (id: string): string => (root === '/api' ? encodeURIComponent(id) : `id:${id}`);
  const data: Readonly<Record<string, unknown>> = {
    [`GET ${prefix}/tag`]: [tagId],
    [`GET ${prefix}/tag/${item(tagId)}`]: { id: tagId, name: 'gold', category_id: categoryId },
    [`GET ${prefix}/category`]: [categoryId],
    [`GET ${prefix}/category/${item(categoryId)}`]: { id: categoryId, name: 'tier' },
    [`POST ${prefix}/tag-association${root === '/api' ? '?action' : '?~action'}=list-attached-tags`]: [tagId],
    [`POST ${prefix}/tag-association/${item(tagId)}${root === '/api' ? '?action' : '?~action'}=attach`]: null,
  };
  const login = root === '/api' ? 'POST /api/session' : 'POST /rest/com/vmware/cis/session';
  let logins = 0;
  const reply = (line: string, headers: IncomingHttpHeaders): readonly [status: number, value?: unknown] => {
    if (line === login) {
      const expected = `Basic ${Buffer.from(`user:${password}`).toString('base64')}`;
      if (headers.authorization !== expected) return [401];
      validToken = `token-${++logins}`;
      return [root === '/api' ? 201 : 200, validToken];
    }
    if (!line.includes(root)) return [404];
    if (headers['vmware-api-session-id'] !== validToken) return [401];
    if (line.startsWith('DELETE')) return [204];
    return line in data ? [200, data[line] ?? undefined] : [404];
  };
  vcenter.onOther((request, response, body) => {
    const line = `${request.method ?? ''} ${request.url ?? ''}`;
    requests.push({ line, token: request.headers['vmware-api-session-id'], body });
    const [status, value] = reply(line, request.headers);
    response.writeHead(status).end(value === undefined ? '' : JSON.stringify(root === '/api' ? value : { value }));
  });
}

for (const root of ['/api', '/rest/com/vmware'] as const) {
  test(`tags are listed, read and attached over ${root}`, async () => {
    serve(root);
    const session = await vcenter.open();
    assert.deepEqual(await session.listTags(), [{ id: tagId, name: 'gold', category: 'tier' }]);
    assert.deepEqual(await session.attachedTags(vm), [tagId]);
    await session.attachTag(tagId, vm);
    assert.equal(requests.at(-1)?.body, '{"object_id":{"type":"VirtualMachine","id":"vm-42"}}');
    await session.close();
    assert.match(requests.at(-1)?.line ?? '', /^DELETE .*session$/);
    assert.equal(requests.filter(({ line }) => /^POST .*session$/.test(line) && line.includes(root)).length, 1);
  });

  test(`an expired REST session is renewed once over ${root}`, async () => {
    serve(root);
    const session = await vcenter.open();
    await session.attachedTags(vm);
    validToken = 'somebody else';
    assert.deepEqual(await session.attachedTags(vm), [tagId]);
    assert.deepEqual(
      requests.filter(({ line }) => line.includes('list-attached')).map(({ token }) => token),
      ['token-1', 'token-1', 'token-2'],
    );
  });
}

test('a wrong password is AUTH', async () => {
  serve('/api', 'another');
  await assert.rejects((await vcenter.open()).listTags(), { code: 'AUTH' });
});

test('an unknown tag and a server without REST are REST errors with their status', async () => {
  serve('/api');
  const session = await vcenter.open();
  await assert.rejects(
    session.attachTag('urn:no-such', vm),
    (error: { code: string; info: { httpStatus: number } }) => {
      assert.deepEqual([error.code, error.info.httpStatus], ['REST', 404]);
      return true;
    },
  );
  vcenter.onOther((_, response) => void response.writeHead(404).end());
  await assert.rejects((await vcenter.open()).listTags(), { code: 'REST' });
});

test('no REST session is opened, or closed, by a session that needs no tags', async () => {
  serve('/api');
  await (await vcenter.open()).close();
  assert.deepEqual(requests, []);
});
