import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { instancePaths } from '../../activities/vsphere/source/instance-record.ts';
import { cacheDir } from '../stack/cache-dir.ts';
import { startVcsim, type Vcsim } from '../stack/vcsim.ts';
import { largestSpread, median, round, spread, type Outcome } from './measure.ts';

const run = promisify(execFile);
const at = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const password = 'a-password';
const pyvmomi = '9.1.1.0';

interface Reading {
  readonly vms: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMiB: number;
}

/** B9: what a batch needs to know of every VM of a vCenter, against pyvmomi with the same properties and page size. */
export async function inventory(options: { full: boolean }): Promise<Outcome> {
  const [vms, turns] = options.full ? [10_000, 4] : [2_000, 6];
  const python = await pythonWithPyvmomi();
  // All in one resource pool, so that there are no more than these.
  const vcsim = await startVcsim({
    password,
    inventory: { dc: 1, cluster: 1, host: 1, 'standalone-host': 0, vm: vms },
  });
  try {
    const ours: Reading[] = [];
    const peer: Reading[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const runs = [
        async () => void ours.push(await readOurs(vcsim)),
        async () => void peer.push(await readTheirs(vcsim, python)),
      ];
      for (const one of turn % 2 === 0 ? runs : runs.reverse()) await one();
      // The first turn warms up.
      if (turn === 0) for (const readings of [ours, peer]) readings.length = 0;
    }
    return outcome(vms, ours, peer, await bareRuntimes());
  } finally {
    await vcsim.stop();
  }
}

function outcome(vms: number, ours: readonly Reading[], peer: readonly Reading[], bare: Bare): Outcome {
  const of = (readings: readonly Reading[], field: keyof Reading): number => median(readings.map((one) => one[field]));
  const time = of(ours, 'seconds') / of(peer, 'seconds');
  const rssMiB = of(ours, 'peakMiB') - bare.node;
  const peerRssMiB = of(peer, 'peakMiB') - bare.python;
  const memory = rssMiB / peerRssMiB;
  if (of(ours, 'vms') !== of(peer, 'vms'))
    throw new Error(`ours found ${of(ours, 'vms')} VMs, pyvmomi ${of(peer, 'vms')}`);
  return {
    name: `B9 inventory of ${vms} VMs`,
    numbers: {
      vms,
      pyvmomi,
      vmsPerSecond: Math.round(vms / of(ours, 'seconds')),
      peerVmsPerSecond: Math.round(vms / of(peer, 'seconds')),
      cpuSeconds: round(of(ours, 'cpuSeconds')),
      peerCpuSeconds: round(of(peer, 'cpuSeconds')),
      rssMiB: Math.round(rssMiB),
      peerRssMiB: Math.round(peerRssMiB),
      bareMiB: { node: Math.round(bare.node), python: Math.round(bare.python) },
    },
    verdicts: [
      { what: 'time against pyvmomi', measured: round(time), unit: '×', target: '< 1', holds: time < 1 },
      {
        what: "memory above the runtime's own against pyvmomi",
        measured: round(memory),
        unit: '×',
        target: '<= 1.5',
        holds: memory <= 1.5,
      },
    ],
    inconclusive: spread(peer.map(({ seconds }) => seconds)) > largestSpread,
  };
}

/** Peaks of interpreters that do nothing, MiB. */
interface Bare {
  readonly node: number;
  readonly python: number;
}

async function bareRuntimes(): Promise<Bare> {
  const script = 'console.log(/VmHWM:\\s+(\\d+)/.exec(require("fs").readFileSync("/proc/self/status"))[1])';
  const lines = 'print(next(l.split()[1] for l in open("/proc/self/status") if l.startswith("VmHWM")))';
  const [node, python] = await Promise.all([run(process.execPath, ['-e', script]), run('python3', ['-c', lines])]);
  return { node: Number(node.stdout) / 1_024, python: Number(python.stdout) / 1_024 };
}

/** The package alone, beside the tools: nothing of the machine's own Python is changed. */
async function pythonWithPyvmomi(): Promise<string> {
  const target = join(cacheDir(), `pyvmomi-${pyvmomi}`);
  await mkdir(target, { recursive: true });
  await run('python3', ['-m', 'pip', 'install', '--quiet', '--upgrade', '--target', target, `pyvmomi==${pyvmomi}`]);
  return target;
}

async function readOurs({ url, username, sha256 }: Vcsim): Promise<Reading> {
  const { stdout } = await run(process.execPath, [at('./b9-child.ts'), url, username, sha256], {
    env: { ...process.env, VC_PASSWORD: password },
  });
  return JSON.parse(stdout) as Reading;
}

/** As many objects as ours has in a page. */
const page = '100';

async function readTheirs({ url, username }: Vcsim, modules: string): Promise<Reading> {
  const args = [at('./b9-peer.py'), new URL(url).host, username, instancePaths.join(','), page];
  const { stdout } = await run('python3', args, {
    env: { ...process.env, VC_PASSWORD: password, PYTHONPATH: modules },
  });
  return JSON.parse(stdout) as Reading;
}
