import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Channel, ChannelAnswer, ChannelCall } from '../../../activities/vsphere/channel.ts';
import { VimFault } from '../../../activities/vsphere/faults.ts';
import { silent } from '../../../activities/vsphere/log.ts';
import type { Intervals } from '../../../activities/vsphere/pool.ts';
import { createPool } from '../../../activities/vsphere/pool.ts';
import type { VCenterEndpoint, VSphere } from '../../../activities/vsphere/port.ts';
import { waitFor } from '../../support/wait-for.ts';

const endpoint: VCenterEndpoint = {
  name: 'vc',
  url: 'https://vc.example.com/sdk',
  user: 'u',
  password: 'p',
  tls: { mode: 'ca' },
};
const ref = (type: string): object => ({ type, value: type });
const content = {
  about: { apiType: 'VirtualCenter', apiVersion: '8.0', fullName: 'vc', instanceUuid: 'u' },
  rootFolder: ref('Folder'),
  propertyCollector: ref('PropertyCollector'),
  sessionManager: ref('SessionManager'),
  searchIndex: ref('SearchIndex'),
  ovfManager: ref('OvfManager'),
};

interface FakeServer {
  readonly vsphere: VSphere;
  readonly calls: string[];
  readonly state: { alive: boolean; opened: number; closed: number };
}

function serve(intervals: Intervals): FakeServer {
  const calls: string[] = [];
  const state = { alive: true, opened: 0, closed: 0 };
  const values: Readonly<Record<string, unknown>> = { RetrieveServiceContent: content, CurrentTime: 'now' };
  const answer = ({ method, cookie }: ChannelCall): ChannelAnswer => {
    calls.push(method);
    if (method === 'Login') state.alive = true;
    if (method === 'CurrentTime' && (cookie === undefined || !state.alive)) {
      throw new VimFault({ kind: 'vim-fault', faultType: 'NotAuthenticated', method });
    }
    return { value: values[method], body: '', cookie: method === 'Login' ? 'c=1' : undefined };
  };
  const channel: Channel = {
    call: async (call) => {
      await Promise.resolve();
      return answer(call);
    },
    speak: () => undefined,
    close: () => void (state.closed += 1),
  };
  const vsphere = createPool({
    allowInsecureTls: false,
    log: silent,
    readFile: () => Promise.reject(new Error('no files')),
    openChannel: () => {
      state.opened += 1;
      return Promise.resolve(channel);
    },
    intervals,
  });
  return { vsphere, calls, state };
}

const never = 1e9;
const times = (calls: readonly string[], method: string): number => calls.filter((call) => call === method).length;

test('an idle pooled session is kept alive, and logged in again when it has died', async () => {
  const { vsphere, calls, state } = serve({ keepAliveMs: 10, idleMs: never });
  await vsphere.withSession(endpoint, (session) => session.currentTime());
  await waitFor('signs of life', () => times(calls, 'CurrentTime') >= 4);
  assert.equal(times(calls, 'Login'), 1);
  state.alive = false;
  await waitFor('a new login', () => times(calls, 'Login') === 2);
  await vsphere.close();
  assert.deepEqual([times(calls, 'Logout'), state.closed], [1, 1]);
});

test('a session in use is left alone by the keep-alive', async () => {
  const { vsphere, calls } = serve({ keepAliveMs: 5, idleMs: 6 });
  await vsphere.withSession(endpoint, async (session) => {
    await session.currentTime();
    const idle = serve({ keepAliveMs: 5, idleMs: never });
    await idle.vsphere.withSession(endpoint, (other) => other.currentTime());
    await waitFor('several rounds', () => times(idle.calls, 'CurrentTime') > 5);
    await idle.vsphere.close();
  });
  assert.deepEqual([times(calls, 'CurrentTime'), times(calls, 'Logout')], [1, 0]);
  await vsphere.close();
});

test('a session that nobody uses for long is given back, and a new one opened when needed', async () => {
  const { vsphere, calls, state } = serve({ keepAliveMs: 5, idleMs: 20 });
  await vsphere.withSession(endpoint, (session) => session.currentTime());
  await waitFor('the logout', () => state.closed === 1);
  assert.equal(times(calls, 'Logout'), 1);
  await vsphere.withSession(endpoint, (session) => session.currentTime());
  assert.equal(state.opened, 2);
  await vsphere.close();
});

test('one session serves one endpoint; other users, passwords and trust get their own', async () => {
  const { vsphere, state } = serve({ keepAliveMs: never, idleMs: never });
  const use = (other: Partial<VCenterEndpoint> = {}): Promise<unknown> =>
    vsphere.withSession({ ...endpoint, ...other }, (session) => session.currentTime());
  await Promise.all([use(), use(), use({ user: 'v' }), use({ password: 'q' })]);
  await use({ tls: { mode: 'thumbprint', sha256: 'AB' } });
  assert.equal(state.opened, 4);
  await vsphere.close();
});
