import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Resolution } from '../../../workflows/contracts/conflict.ts';
import { templateSwapId } from '../../../workflows/contracts/ids.ts';
import { freePort, startProcess, type SupervisedProcess } from '../../stack/processes.ts';
import { findTool } from '../../stack/tool.ts';
import { tools } from '../../stack/tools.ts';
import type { BuiltOva } from '../../support/ova-builder.ts';
import { password, Rig, type Scenario } from '../../support/rig.ts';
import { textOf } from '../../support/text-of.ts';
import { waitFor } from '../../support/wait-for.ts';
import { vmflow, type ProcessResult } from '../cli/run-process.ts';
import { browserMissing, openBrowser } from '../web-ui/browser.ts';
import { ExecutionPage } from '../web-ui/execution-page.ts';

const run = promisify(execFile);
const missing = await browserMissing();
/** In the path of every OVA here: it's in requests, heartbeats, summaries and details, and in no id or attribute. */
const planted = 'planted-place-4c1e';

function keyLine(id: string): string {
  return `${id} ${randomBytes(32).toString('base64')}`;
}

describe('with a payload codec', () => {
  let rig: Rig;
  let codec: SupervisedProcess;
  let codecUrl: string;
  let ova: BuiltOva;
  const keys = { old: keyLine('k1'), fresh: keyLine('k2') };

  before(async () => {
    const [uiPort, codecPort] = [await freePort(), await freePort()];
    codecUrl = `http://127.0.0.1:${codecPort}`;
    rig = await Rig.start({ webUi: { uiPort, codecEndpoint: codecUrl }, noWorkers: true });
    await writeFile(keyFile(), `${keys.old}\n`, { mode: 0o600 });
    await startWorkers();
    codec = await startCodecServer(codecPort, uiPort);
    const built = await (await rig.scenario()).ova();
    ova = { ...built, path: join(rig.dir, `${planted}.ova`) };
    await rename(built.path, ova.path);
  });
  after(async () => {
    await codec.stop();
    await rig.stop();
  });

  const keyFile = (): string => join(rig.dir, 'codec-keys');
  const withKeys = (): Record<string, string> => ({ VMFLOW_CODEC_KEYS_FILE: keyFile() });

  async function startWorkers(): Promise<void> {
    const env = { ...withKeys(), VC_PASSWORD: password };
    await Promise.all([rig.startWorker('control', { env }), rig.startWorker('transfer', { env })]);
  }

  async function startCodecServer(port: number, uiPort: number): Promise<SupervisedProcess> {
    return await startProcess({
      name: 'The codec server',
      command: process.execPath,
      args: [fileURLToPath(new URL('../../../workers/codec.ts', import.meta.url))],
      env: {
        ...process.env,
        ...withKeys(),
        VMFLOW_CODEC_ADDRESS: `127.0.0.1:${port}`,
        VMFLOW_CODEC_ORIGINS: `http://127.0.0.1:${uiPort}`,
      },
      ready: (line) => line.includes('"msg":"codec server started"'),
    });
  }

  async function cli(env: Readonly<Record<string, string>>, ...argv: readonly string[]): Promise<ProcessResult> {
    const { address, namespace, server } = rig.temporal;
    const temporal = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, VMFLOW_TASK_QUEUE: rig.taskQueue };
    return await vmflow(
      { ...temporal, VMFLOW_ACK_TIMEOUT: '60s', VMFLOW_UI_URL: server?.uiUrl ?? '', ...env },
      ...argv,
    );
  }

  async function well(...argv: readonly string[]): Promise<string> {
    const { exit, stdout, stderr } = await cli(withKeys(), ...argv);
    assert.equal(exit, 0, `${argv.join(' ')}: ${stderr}`);
    return stdout;
  }

  function asked(scenario: Scenario, more: Readonly<Record<string, string>> = {}): string[] {
    const { placement, template, vcenter } = scenario.request();
    const flags = Object.entries({ vcenter, ...placement, ...more }).flatMap(([name, value]) => [`--${name}`, value]);
    return ['template', 'update', template.prodName, '--ova', ova.path, ...flags];
  }

  /** What `npm run replay` says of a workflow. */
  async function replayed(id: string): Promise<string> {
    const { address, namespace } = rig.temporal;
    const temporal = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
    const script = fileURLToPath(new URL('../../replay/live.ts', import.meta.url));
    const { stdout } = await run(process.execPath, [script, '--query', `WorkflowId = '${id}'`], {
      env: { ...process.env, ...temporal, ...withKeys() },
    });
    return stdout;
  }

  /** Everything that Temporal has of a workflow, as the text that it holds. */
  async function whatTemporalHas(id: string): Promise<string> {
    const handle = rig.client.workflow.getHandle(id);
    const { raw } = await handle.describe().catch(() => ({ raw: undefined }));
    return textOf([await handle.fetchHistory(), raw]);
  }

  test('Temporal sees nothing of what is done; who has the keys sees all of it', async () => {
    const scenario = await rig.scenario();
    await scenario.template(scenario.names.prod, '416.94.1');
    const id = templateSwapId(scenario.request());
    await well(...asked(scenario), '--wait');
    const has = await whatTemporalHas(id);
    assert.ok(/binary\/encrypted/.test(has));
    assertNot(has, new RegExp(planted));

    const found = JSON.parse(await well('template', 'get', id, '-o', 'json')) as { phase: string };
    assert.equal(found.phase, 'Completed');
    assert.match(await well('history', 'export'), new RegExp(planted));
    assert.match(await replayed(id), /^1 of 1 histories .* replay on this build$/m);
    const { stdout } = await run(await findTool(tools.temporal), [
      ...['workflow', 'show', '--workflow-id', id, '--output', 'json', '--codec-endpoint', codecUrl],
      ...['--address', rig.temporal.address, '--namespace', rig.temporal.namespace],
    ]);
    const shown = [...stdout.matchAll(/"data": "([^"]+)"/g)].map(([, data]) => Buffer.from(data ?? '', 'base64'));
    assert.match(shown.join('\n'), new RegExp(planted));
  });

  test('a failure is told to who has the keys, and to nobody else', async () => {
    const scenario = await rig.scenario();
    await scenario.template(scenario.names.prod, '416.94.1');
    const { exit, stdout, stderr } = await cli(
      withKeys(),
      ...asked(scenario, { datastore: 'planted-store' }),
      '--wait',
    );
    assert.notEqual(exit, 0);
    assert.match(stdout + stderr, /planted-store/);
    const has = await whatTemporalHas(templateSwapId(scenario.request()));
    assert.ok(/Encoded failure/.test(has));
    assertNot(has, /planted-/);
    assert.match(await well('history', 'export'), /planted-store/);
  });

  test('without the keys the command line says what is missing', async () => {
    const scenario = await rig.scenario();
    await scenario.template(scenario.names.prod, '416.94.1');
    const id = templateSwapId(scenario.request());
    await well(...asked(scenario), '--wait');
    const { exit, stderr } = await cli({}, 'template', 'get', id);
    assert.notEqual(exit, 0);
    assert.match(stderr, /encrypted with the key k1, and no key file is set: set VMFLOW_CODEC_KEYS_FILE/);
    const nowhere = await cli({ VMFLOW_CODEC_KEYS_FILE: '/nonexistent/keys' }, 'template', 'get', id);
    assert.equal(nowhere.exit, 2);
    assert.match(nowhere.stderr, /key file that VMFLOW_CODEC_KEYS_FILE names can't be read/);
  });

  test(
    'a conflict reads as ever in the Web UI and is resolved there, after the key was changed',
    { skip: missing ?? false },
    async (t) => {
      const scenario = await rig.scenario();
      await scenario.template(scenario.names.prod, '416.94.1');
      await scenario.template(scenario.names.temp, '410.0.0');
      const id = templateSwapId(scenario.request());
      await well(...asked(scenario));
      await waitFor('the conflict', async () => /FOREIGN_OBJECT/.test(await well('template', 'get', id)));

      await writeFile(keyFile(), `${keys.fresh}\n${keys.old}\n`, { mode: 0o600 });
      await Promise.all([rig.killWorker('control'), rig.killWorker('transfer')]);
      await startWorkers();
      await codec.kill();
      codec = await startCodecServer(
        Number(new URL(codecUrl).port),
        Number(new URL(rig.temporal.server?.uiUrl ?? '').port),
      );

      const browser = await openBrowser();
      t.after(() => browser.close());
      const page = new ExecutionPage(browser.page, (await well('open', 'workflow', id, '--print')).trim());
      await page.open();
      const { summary, details, current, json } = await page.metadata();
      assert.equal(summary.trim(), `update template ${scenario.names.prod} to 417.94.2 on main`);
      assert.match(details, new RegExp(planted));
      assert.match(current, /Conflict FOREIGN_OBJECT/);
      const decision: Resolution = {
        ...(JSON.parse(json[0] ?? '') as Resolution),
        decision: 'destroy-foreign',
        by: 'op',
      };
      assert.equal(await page.send('update', 'resolve', JSON.stringify(decision)), undefined);
      await page.shows('Completed');

      const has = await whatTemporalHas(id);
      assert.ok(/\bk1\b/.test(has));
      assert.ok(/\bk2\b/.test(has));
      assertNot(has, new RegExp(planted));
      // The dialog's own text went through the codec server.
      assertNot(has, /destroy-foreign/);
    },
  );
});

/** Without the whole text in the message. */
function assertNot(text: string, pattern: RegExp): void {
  const at = text.search(pattern);
  assert.equal(at, -1, `found ${String(pattern)} in: …${text.slice(Math.max(0, at - 200), at + 200)}…`);
}
