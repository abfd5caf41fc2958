import { createSource } from '../../activities/vsphere/source.ts';
import { createVSphere } from '../../activities/vsphere/vsphere-adapter.ts';
import { peakRssMiB } from './measure.ts';

/** Reads one inventory as a batch does, in a process of its own: address, user, fingerprint; the password is in the environment. */
const [url = '', user = '', sha256 = ''] = process.argv.slice(2);
const vsphere = createVSphere({ allowInsecureTls: false });
const password = process.env['VC_PASSWORD'] ?? '';
const source = createSource(vsphere, { name: 'vc1', url, user, password, tls: { mode: 'thumbprint', sha256 } });
const cpu = process.cpuUsage();
const from = performance.now();
let vms = 0;
for await (const { instances } of source.inventory()) vms += instances.length;
const seconds = (performance.now() - from) / 1_000;
const { user: own, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ vms, seconds, cpuSeconds: (own + system) / 1e6, peakMiB: peakRssMiB() }));
await vsphere.close();
