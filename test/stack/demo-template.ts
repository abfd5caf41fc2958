import { join } from 'node:path';
import type { VCenterEndpoint } from '../../activities/vsphere/port.ts';
import { swapNames } from '../../workflows/domain/template/names.ts';
import { Poller } from '../support/poller.ts';
import { waitFor } from '../support/wait-for.ts';
import { mustSucceed, say, vmflow } from './demo-cli.ts';
import { sampleDisk, sampleOva } from './sample-ova.ts';
import type { Stack } from './stack.ts';

const name = 'rescue';
/** Bytes per second while the crash is awaited: slow enough to meet the upload in its middle. */
const slowUpload = 500_000;
const placement = [
  '--vcenter',
  'main',
  '--datacenter',
  'DC0',
  '--cluster',
  'DC0_C0',
  '--datastore',
  'LocalDS_0',
  '--network',
  'VM Network',
];

/** Template swap: three versions, a crash in the middle of the third. */
export async function templateStory(stack: Stack): Promise<void> {
  say('An OVA as image builders make them');
  const { bytes, origin } = await sampleDisk(join(stack.dir, 'disk'));
  const ova = async (version: string): Promise<string> =>
    (await sampleOva(join(stack.dir, 'ova', `${name}-${version}.ova`), version, bytes)).path;
  console.log(`${origin}; ${(bytes.length / 1024 ** 2).toFixed(1)} MiB, with a descriptor and a manifest`);

  say(`Version 1.0: there is no template "${name}" yet`);
  await mustSucceed(stack, ['template', 'update', name, '--ova', await ova('1.0'), '--create', ...placement, '--wait']);

  const poller = await Poller.start(direct(stack), '/DC0/vm', swapNames(name));
  try {
    say('Version 2.0 is imported beside it and swapped in by rename, while somebody looks the template up every 5 ms');
    await mustSucceed(stack, ['template', 'update', name, '--ova', await ova('2.0'), '--wait']);
    const first = poller.longestGapMs();
    console.log(`longest time without a template named "${name}": ${first.toFixed(1)} ms`);

    say('Version 3.0, and the transfer worker is killed (SIGKILL) in the middle of the upload');
    await crashDuringUpload(stack, await ova('3.0'));
    const second = poller.longestGapMs();
    console.log(`longest time without a template named "${name}", the crash included: ${second.toFixed(1)} ms`);
    await poller.stop();
    const missing = poller.samples.filter(({ ref }) => ref === undefined).length;
    console.log(`${poller.samples.length} lookups by another client, ${missing} of them in a swap's gap`);
  } finally {
    await poller.stop();
  }

  say('What is there now');
  await mustSucceed(stack, ['template', 'list']);
  await mustSucceed(stack, ['template', 'get', name]);
  const left = (await stack.vcsim.control.vms()).filter((vm) => vm.name.startsWith('mco-'));
  if (left.length > 0) throw new Error(`left behind: ${left.map((vm) => vm.name).join(', ')}`);
  // The lease of the killed worker belongs to its dead session: a vCenter ends it after five minutes, the simulator never does.
  const leases = await stack.vcsim.control.leases();
  if (leases.length > 1) throw new Error(`import leases are left open: ${leases.map(({ lease }) => lease).join(', ')}`);
  console.log(
    "nothing is left under the temporary names, and no import lease is open but the killed worker's, which times out",
  );

  const { stdout } = await vmflow(stack, ['open', 'template', name, '--print'], true);
  say('The same in the Web UI (while the stack runs: npm run dev keeps one)');
  console.log(stdout.trim());
}

async function crashDuringUpload(stack: Stack, path: string): Promise<void> {
  const slow = stack.proxy?.addNfcRule({ afterBytes: 0, action: 'throttle', bytesPerSecond: slowUpload });
  await mustSucceed(stack, ['template', 'update', name, '--ova', path]);
  await waitFor(
    'the upload to be under way',
    async () => (await stack.vcsim.control.transfers()).some((transfer) => transfer.bytes > 0 && !transfer.done),
    { timeoutMs: 60_000 },
  );
  await vmflow(stack, ['template', 'get', name]);
  console.log('… kill -9');
  await stack.workers.get('transfer')?.kill();
  slow?.remove();
  await stack.startWorker('transfer');
  await mustSucceed(stack, ['template', 'watch', name]);
}

function direct(stack: Stack): VCenterEndpoint {
  const { url, username, password, sha256 } = stack.vcsim;
  return { name: 'poller', url, user: username, password, tls: { mode: 'thumbprint', sha256 } };
}
