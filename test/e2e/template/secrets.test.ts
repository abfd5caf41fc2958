import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { TemplateSwapRequest } from '../../../workflows/contracts/template.ts';
import { serve, startServer } from '../../unit/ova/file-server.ts';
import { assertClean } from '../../support/guarantees.ts';
import { password, Rig, type Swap } from '../../support/rig.ts';
import { textOf } from '../../support/text-of.ts';
import { waitFor } from '../../support/wait-for.ts';

const headerSecret = 'planted-header-91c4';
const querySecret = 'planted-signature-5e0b';
/** As a server may put them into the text of a fault. */
const faultText =
  'see https://esx1.example/nfc/planted-lease-77a1/disk-0.vmdk?token=planted-token-3d2f for session[planted-key-08be]';

let rig: Rig;
before(async () => {
  rig = await Rig.start({
    noWorkers: true,
    env: {
      VMFLOW_LOG_LEVEL: 'trace',
      VC_PASSWORD: password,
      OVA_TOKEN: headerSecret,
      OVA_QUERY: `X-Amz-Signature=${querySecret}`,
    },
    config: {
      sources: { images: { headers: [{ name: 'authorization', valueEnv: 'OVA_TOKEN' }], queryEnv: 'OVA_QUERY' } },
    },
  });
});
after(() => rig.stop());

/** Cookies, REST sessions and lease URLs as they pass on the wire. */
function listenForSecrets(): Map<string, string> {
  const secrets = new Map<string, string>();
  const note =
    (what: string, pattern: RegExp) =>
    (answer: string): string => {
      for (const [, value = ''] of answer.matchAll(pattern)) secrets.set(value, what);
      return answer;
    };
  rig.proxy.rewrite('Login', note('cookie', /<key>([^<]+)<\/key>/g)); // the simulator's cookie is the key
  rig.proxy.rewrite('REST session POST', note('REST session', /"value":\s*"([^"]+)"/g));
  rig.proxy.rewrite('RetrievePropertiesEx', note('lease URL', /<url>https?:\/\/[^/]+(\/nfc\/[^<]+)<\/url>/g));
  rig.proxy.rewrite('ImportVApp', note('lease', />(session\[[^<]+)</g));
  return secrets;
}

async function whatPeopleSee(swap: Swap): Promise<string> {
  const answers = [
    (await swap.handle.describe()).raw,
    await swap.status(),
    await swap.handle.query('__temporal_workflow_metadata'),
  ];
  return answers.map(textOf).join('\n');
}

async function filesOf(dir: string): Promise<string> {
  const names = await readdir(dir, { recursive: true });
  const texts = names.map(async (name) => {
    const { size } = await stat(join(dir, name));
    return size < 20_000 && !/\.ova$/.test(name) ? await readFile(join(dir, name), 'utf8').catch(() => '') : '';
  });
  return [...names, ...(await Promise.all(texts))].join('\n');
}

test('template/47 secrets: no password, cookie, lease URL or signed query anywhere people can look', async (t) => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const ova = await scenario.ova();
  const bytes = await readFile(ova.path);
  const server = await startServer(t, (request, response, nth) => {
    if (nth > 1) serve(request, response, bytes);
    else response.writeHead(503).end();
  });
  const tag = await rig.vcsim.control.ensureTag('os', 'rhcos');
  const secrets = listenForSecrets();
  const logs = ['control', 'first', 'second'].map((name) => join(rig.dir, `${name}.log`));
  const [control, first] = await Promise.all([
    rig.startWorker('control', { logFile: logs[0]! }),
    rig.startWorker('transfer', { logFile: logs[1]! }),
  ]);

  const request: TemplateSwapRequest = {
    ...scenario.request({ options: { tags: [tag] } }),
    source: {
      kind: 'http',
      url: `${server.origin}/rhcos.ova`,
      sha256: ova.sha256,
      headersRef: 'images',
    },
  };
  rig.proxy.addRule({ method: 'ImportVApp', action: 'fault', fault: 'SystemError', message: faultText });
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: 1024 });
  const swap = await scenario.start(request);
  await waitFor('the upload', () => rig.proxy.requests().some(({ kind }) => kind === 'nfc'));
  await waitFor('its heartbeat', async () => (await whatPeopleSee(swap)).includes('uploading'));
  const during = await whatPeopleSee(swap);
  // What a killed worker leaves is in the history too.
  await rig.killWorker('transfer');
  const second = await rig.startWorker('transfer', { logFile: logs[2]! });
  const result = await swap.result();
  assert.equal(result.uploadAttempts, 2); // the first attempt ended before its upload
  await rig.vcsim.control.abortLeases(); // of the killed worker's session
  await assertClean(scenario);

  rig.proxy.addRule({ method: 'ImportVApp', action: 'fault', fault: 'NotSupported', message: faultText });
  const next = await scenario.ova('418.0.0');
  const failing = await scenario.start({ ova: next, version: '418.0.0' });
  const failure = await failing.failure();

  const history = [await swap.handle.fetchHistory(), await failing.handle.fetchHistory()].map(textOf).join('\n');
  const afterwards = [await whatPeopleSee(swap), await whatPeopleSee(failing), textOf(failure)].join('\n');
  const argv = await Promise.all(
    [control, first, second].map(({ pid }) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  await Promise.all([control, second].map((worker) => worker.stop()));
  const log = (await Promise.all(logs.map((path) => readFile(path, 'utf8')))).join('\n');
  const places = {
    history,
    'queries and describe': `${during}\n${afterwards}`,
    log,
    arguments: argv.join('\n'),
    cache: await filesOf(join(rig.dir, 'cache')),
  };

  // What is searched does hold what it should.
  assert.equal(server.requests[1]?.headers.authorization, headerSecret);
  assert.ok(server.requests[1].url.includes(querySecret), 'the server was asked with the query');
  assert.ok(history.includes('activity Heartbeat timeout'));
  assert.ok(during.includes('"phase":"uploading"'));
  assert.ok(history.includes(request.source.kind === 'http' ? request.source.url : ''));
  assert.ok(/ImportVApp on \S+ failed with NotSupported/.test(places.history));
  assert.ok(/ImportVApp on \S+ failed with SystemError/.test(during));
  assert.ok(log.includes('worker started'));
  assert.ok(places.arguments.includes('transfer.ts'));
  assert.deepEqual(new Set(secrets.values()), new Set(['cookie', 'REST session', 'lease URL', 'lease']));

  secrets.set(password, 'password');
  secrets.set(headerSecret, 'header of the source');
  secrets.set(querySecret, 'query of the source');
  for (const planted of ['planted-lease-77a1', 'planted-token-3d2f', 'planted-key-08be'])
    secrets.set(planted, 'text of a fault');
  for (const [place, text] of Object.entries(places)) {
    for (const [secret, what] of secrets)
      if (text.includes(secret)) assert.fail(`a ${what} in ${place}: ${around(text, secret)}`);
  }
});

function around(text: string, secret: string): string {
  const at = text.indexOf(secret);
  return text.slice(Math.max(0, at - 200), at + secret.length + 50);
}
