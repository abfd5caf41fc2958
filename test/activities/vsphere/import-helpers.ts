import { createHash, randomBytes } from 'node:crypto';

import type { LeaseDeviceUrl, MoRef, VCenterEndpoint, VSphereSession } from '../../../activities/vsphere/port.ts';
import type { FaultProxy } from '../../sim/fault-proxy.ts';
import type { Vcsim } from '../../stack/vcsim.ts';
import { ovfDescriptor } from '../../support/ovf-descriptor.ts';

export function endpointOf(sim: Vcsim, more: Partial<VCenterEndpoint> = {}): VCenterEndpoint {
  const { url, username, password, sha256 } = sim;
  return { name: 'sim', url, user: username, password, tls: { mode: 'thumbprint', sha256 }, ...more };
}

export function throughProxy(
  sim: Vcsim,
  { url, sha256 }: FaultProxy,
  more: Partial<VCenterEndpoint> = {},
): VCenterEndpoint {
  return endpointOf(sim, { url, tls: { mode: 'thumbprint', sha256 }, ...more });
}

/** Where the simulator's own inventory lets VMs be imported to. */
export interface Placement {
  readonly pool: MoRef;
  readonly datastore: MoRef;
  readonly folder: MoRef;
  readonly network: MoRef;
  readonly host: MoRef;
}

export async function placement(session: VSphereSession): Promise<Placement> {
  const find = async (path: string): Promise<MoRef> => {
    const found = await session.findByInventoryPath(path);
    if (found === undefined) throw new Error(`nothing at ${path}`);
    return found;
  };
  return {
    pool: await find('/DC0/host/DC0_C0/Resources'),
    datastore: await find('/DC0/datastore/LocalDS_0'),
    folder: await find('/DC0/vm'),
    network: await find('/DC0/network/VM Network'),
    host: await find('/DC0/host/DC0_C0/DC0_C0_H0'),
  };
}

export interface Imported {
  readonly vm: MoRef;
  readonly lease: MoRef;
  readonly sha1: readonly string[];
}

/** Starts an import of so many disks and waits until its lease is ready. */
export async function beginImport(
  session: VSphereSession,
  name: string,
  disks: number,
): Promise<{
  readonly lease: MoRef;
  readonly vm: MoRef;
  readonly deviceUrls: readonly LeaseDeviceUrl[];
}> {
  const { pool, datastore, folder, network, host } = await placement(session);
  const files = Array.from({ length: disks }, (_, index) => ({ href: `disk-${index}.vmdk`, size: 4096 }));
  const spec = await session.createImportSpec({
    ovfDescriptor: ovfDescriptor({ name: 'appliance', disks: files, productVersion: '1.2.3' }),
    resourcePool: pool,
    datastore,
    host,
    entityName: name,
    networkMapping: [{ name: 'VM Network', network }],
    diskProvisioning: 'thin',
  });
  if (spec.errors.length > 0) throw new Error(spec.errors.join('; '));
  const extraConfig = new Map([
    ['vmflow.prod', 'tmpl & "co" <1>'],
    ['vmflow.state', 'importing'],
  ]);
  const edits = { extraConfig, emptyDiskFileNames: true };
  const lease = await session.importVApp(pool, spec.importSpecXml, edits, folder, host);
  const { entity, deviceUrls } = await session.waitForLease(lease, {});
  return { lease, vm: entity, deviceUrls };
}

export async function sendDisk(session: VSphereSession, device: LeaseDeviceUrl, bytes = 300_000): Promise<string> {
  const data = randomBytes(bytes);
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < data.length; at += 65_536) yield await Promise.resolve(data.subarray(at, at + 65_536));
  }
  await session.upload(device, {
    method: 'POST',
    contentType: 'application/x-vnd.vmware-streamVmdk',
    length: data.length,
    body: body(),
    stallMs: 10_000,
    signal: new AbortController().signal,
    onSent: () => undefined,
  });
  return createHash('sha1').update(data).digest('hex');
}

export async function importVm(session: VSphereSession, name: string, disks: number): Promise<Imported> {
  const { lease, vm, deviceUrls } = await beginImport(session, name, disks);
  const sha1: string[] = [];
  for (const device of deviceUrls) sha1.push(await sendDisk(session, device));
  await session.leaseComplete(lease);
  return { vm, lease, sha1 };
}
