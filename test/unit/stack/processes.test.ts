import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { freePort, startProcess } from '../../stack/processes.ts';
import { waitFor } from '../../support/wait-for.ts';

const node = process.execPath;
const stubborn = "process.on('SIGTERM', () => {}); console.log('ready'); setInterval(() => {}, 1000)";
const isReady = (line: string): boolean => line === 'ready';

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a child is ready when it says so, and stops', async () => {
  const child = await startProcess({
    name: 'child',
    command: node,
    args: ['-e', "console.log('hello'); console.log('ready'); setInterval(() => {}, 1000)"],
    ready: isReady,
  });
  assert.equal(child.output(), 'hello\nready');
  await child.stop();
  assert.deepEqual(await child.exited, { code: null, signal: 'SIGTERM' });
  assert.equal(child.isRunning(), false);
});

test('a child that ignores SIGTERM is killed after the grace', async () => {
  const child = await startProcess({ name: 'child', command: node, args: ['-e', stubborn], ready: isReady });
  await child.stop(50);
  assert.deepEqual(await child.exited, { code: null, signal: 'SIGKILL' });
});

test('a child that ends before it is ready fails with its last words', async () => {
  const start = startProcess({
    name: 'The part',
    command: node,
    args: ['-e', "console.error('port taken'); process.exit(3)"],
    ready: isReady,
  });
  await assert.rejects(start, /The part ended with code 3 before it was ready\. Its last output:\nport taken/);
});

test('a child that is never ready is killed', async () => {
  let pid = 0;
  const start = startProcess({
    name: 'The part',
    command: 'sh',
    args: ['-c', 'echo $$; exec sleep 1000'], // is there at once, unlike Node
    ready: (line) => {
      pid = Number(line);
      return false;
    },
    readyWithinMs: 1_500,
  });
  await assert.rejects(start, /was not ready within 1500 ms/);
  assert.ok(pid > 0 && !isAlive(pid));
});

test('a command that does not exist is an error with its name', async () => {
  await assert.rejects(startProcess({ name: 'The part', command: '/nowhere/part' }), /The part could not be started/);
});

test('children do not outlive a parent that is killed', async () => {
  const source = `
    const { startProcess } = await import(${JSON.stringify(new URL('../../stack/processes.ts', import.meta.url).href)});
    const child = await startProcess({
      name: 'grandchild', command: process.execPath, args: ['-e', ${JSON.stringify(stubborn)}], ready: (line) => line === 'ready',
    });
    console.log('grandchild ' + child.pid);
    setInterval(() => {}, 1000);`;
  let grandchild = 0;
  const parent = await startProcess({
    name: 'parent',
    command: node,
    args: ['--input-type=module', '-e', source],
    ready: (line) => (grandchild = Number(/^grandchild (\d+)$/.exec(line)?.[1] ?? 0)) > 0,
  });
  assert.ok(isAlive(grandchild));
  await parent.kill();
  await waitFor('the grandchild to end', () => !isAlive(grandchild));
});

test('a free port can be listened on', async () => {
  const port = await freePort();
  const refused = await new Promise((resolve) => connect(port, '127.0.0.1').on('error', resolve));
  assert.match(String(refused), /ECONNREFUSED/);
});
