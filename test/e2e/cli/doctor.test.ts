import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Check } from '../../../workflows/contracts/lookup.ts';
import { startTemporal, type TemporalServer } from '../../stack/temporal.ts';
import { password, Rig } from '../../support/rig.ts';
import { vmflow } from './run-process.ts';

/** What `vmflow doctor` finds, by name. */
async function doctor(env: Readonly<Record<string, string>>): Promise<Readonly<Record<string, Check>>> {
  const { stdout, stderr } = await vmflow(env, 'doctor', '-o', 'json');
  assert.doesNotMatch(stdout + stderr, new RegExp(password));
  const { items } = JSON.parse(stdout) as { items: Check[] };
  return Object.fromEntries(items.map((item) => [item.name, item]));
}

function isFound(check: Check | undefined, detail: RegExp, remedy: RegExp): void {
  assert.equal(check?.ok, false, JSON.stringify(check));
  assert.match(check.detail, detail);
  assert.match(check.remedy ?? '', remedy);
}

describe('doctor finds, before there is a worker,', () => {
  let bare: TemporalServer;
  before(async () => {
    bare = await startTemporal({ bare: true });
  });
  after(() => bare.stop());

  test('a wrong address of Temporal', async () => {
    const found = await doctor({ TEMPORAL_ADDRESS: '127.0.0.1:1' });
    isFound(found['Temporal'], /127\.0\.0\.1:1/, /vmflow config view|TEMPORAL_ADDRESS/);
  });

  test('a namespace that is missing', async () => {
    const found = await doctor({ TEMPORAL_ADDRESS: bare.address, TEMPORAL_NAMESPACE: 'missing' });
    isFound(found['namespace'], /no "missing"/, /^vmflow admin setup$/);
  });

  test('search attributes and schedules that are missing', async () => {
    const found = await doctor({ TEMPORAL_ADDRESS: bare.address, TEMPORAL_NAMESPACE: bare.namespace });
    isFound(found['search attributes'], /missing or of another type: .*OpKind/, /^vmflow admin setup$/);
    isFound(found['schedules'], /vmop-sweep is missing/, /^vmflow admin setup$/);
  });
});

describe('doctor finds, with workers,', () => {
  let dir: string;
  let rig: Rig;
  let other: Server;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'vmflow-doctor-'));
    await writeFile(join(dir, 'open'), password);
    await chmod(join(dir, 'open'), 0o644);
    const nowhere = { url: 'https://127.0.0.1:1/sdk', user: 'svc', tls: { mode: 'ca' } };
    rig = await Rig.start({
      env: { VMFLOW_BUILD_ID: 'build-1' },
      config: {
        vcenters: {
          'no-secret': { ...nowhere, passwordFile: join(dir, 'missing') },
          'open-secret': { ...nowhere, passwordFile: join(dir, 'open') },
        },
      },
    });
    other = createServer((_, response) => response.writeHead(404).end()).listen(0, '127.0.0.1');
  });
  after(async () => {
    other.close();
    await rig.stop();
    await rm(dir, { recursive: true, force: true });
  });

  const environment = (): Record<string, string> => ({
    TEMPORAL_ADDRESS: rig.temporal.address,
    TEMPORAL_NAMESPACE: rig.temporal.namespace,
    VMFLOW_TASK_QUEUE: rig.taskQueue,
    VMFLOW_ACK_TIMEOUT: '60s',
  });

  test('a task queue that no control and no transfer worker polls', async () => {
    const found = await doctor({ ...environment(), VMFLOW_TASK_QUEUE: 'elsewhere' });
    isFound(found['control worker'], /nobody polls task queue "elsewhere"/, /start a worker .*--task-queue/);
    isFound(found['transfer worker'], /nobody polls task queue "elsewhere-transfer"/, /start a worker/);
  });

  test('a wrong fingerprint of vCenter, and shows the right one', async () => {
    const found = await doctor(environment());
    isFound(
      found['wrong-thumbprint: log in'],
      /thumbprint/,
      /compare the fingerprint above .* set tls in vmflow\.yaml/,
    );
    assert.equal(
      found['wrong-thumbprint: certificate']?.detail.replaceAll(':', '').toUpperCase(),
      `SHA-256 ${rig.proxy.sha256.replaceAll(':', '').toUpperCase()}`,
    );
  });

  test('a wrong password of vCenter', async () => {
    const found = await doctor(environment());
    isFound(found['wrong-password: log in'], /./, /check user and password of this vCenter in vmflow\.yaml/);
    assert.equal(found['main: log in']?.ok, true);
  });

  test('a clock of vCenter that is wrong', async () => {
    const late = (answer: string): string => answer.replace(/<returnval>[^<]+</, '<returnval>2001-01-01T00:00:00Z<');
    const rule = rig.proxy.rewrite('CurrentTime', late);
    const found = await doctor(environment());
    rule.remove();
    isFound(found['main: clock'], /\d+ s apart from this worker/, /synchronise the clocks/);
  });

  test('a vCenter that is away', async () => {
    const found = await doctor(environment());
    isFound(found['open-secret: log in'], /127\.0\.0\.1:1/, /check url, network and firewall/);
  });

  test('a secret that is missing, and one that others can read', async () => {
    const { stdout } = await vmflow(environment(), 'doctor', '-o', 'json');
    const { items } = JSON.parse(stdout) as { items: Check[] };
    const files = items.filter(({ name }) => name === 'secret files');
    assert.equal(files.length, 2);
    isFound(
      files.find(({ detail }) => detail.includes('open')),
      /open is readable by others/,
      /^chmod 600 .*open$/,
    );
    isFound(
      files.find(({ detail }) => detail.includes('missing')),
      /missing can't be read/,
      /put the secret there, .* or correct the path in vmflow\.yaml/,
    );
  });

  test('another build of the command line', async () => {
    const same = await doctor({ ...environment(), VMFLOW_BUILD_ID: 'build-1' });
    assert.deepEqual([same['builds']?.ok, same['builds']?.detail], [true, 'build-1']);
    const found = await doctor({ ...environment(), VMFLOW_BUILD_ID: 'build-2' });
    isFound(found['builds'], /is build-1, .*this command line is build-2/, /one build/);
  });

  test('an address of the Web UI where nothing, or something else, answers', async () => {
    const { port } = other.address() as AddressInfo;
    const wrong = await doctor({ ...environment(), VMFLOW_UI_URL: `http://127.0.0.1:${port}` });
    isFound(wrong['Web UI'], /answers with 404/, /VMFLOW_UI_URL/);
    const away = await doctor({ ...environment(), VMFLOW_UI_URL: 'http://127.0.0.1:1' });
    isFound(away['Web UI'], /doesn't answer/, /VMFLOW_UI_URL/);
  });
});
