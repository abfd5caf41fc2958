import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { startTcpProxy, type TcpProxy } from '../../sim/tcp-proxy.ts';
import { waitFor } from '../../support/wait-for.ts';

const echo = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
let proxy: TcpProxy;

before(async () => {
  echo.listen(0, '127.0.0.1');
  await once(echo, 'listening');
  proxy = await startTcpProxy({ port: (echo.address() as AddressInfo).port });
});
after(async () => {
  await proxy.stop();
  echo.close();
});

async function client(): Promise<Socket> {
  const socket = connect(proxy.port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

async function roundTrip(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return answer.toString();
}

test('passes both ways, late when asked', async () => {
  const socket = await client();
  assert.equal(await roundTrip(socket, 'one'), 'one');
  proxy.delay(50);
  const started = performance.now();
  assert.equal(await roundTrip(socket, 'two'), 'two');
  assert.ok(performance.now() - started >= 95);
  proxy.delay(0);
  socket.destroy();
});

test('cut breaks what is open and refuses what is new, until healed', async () => {
  const socket = await client();
  await roundTrip(socket, 'open');
  const broken = once(socket, 'error');
  await proxy.cut();
  assert.match(String(await broken), /ECONNRESET/);
  await assert.rejects(client(), { code: 'ECONNREFUSED' });
  await proxy.heal();
  const again = await client();
  assert.equal(await roundTrip(again, 'again'), 'again');
  again.destroy();
});

test('freeze lets nothing through and keeps the connection, until healed', async () => {
  const socket = await client();
  await roundTrip(socket, 'before');
  proxy.freeze();
  const arrived: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => arrived.push(chunk));
  socket.write('frozen');
  const silent = await client(); // its connection is taken, and silent too
  assert.deepEqual(arrived, []);
  await proxy.heal();
  await waitFor('what was written meanwhile', () => Buffer.concat(arrived).toString() === 'frozen');
  for (const open of [socket, silent]) open.destroy();
});
