import type { VcsimControl } from '../stack/vcsim-control.ts';
import type { RawVim } from './raw-vim.ts';

/** An upload that the simulator waits for. */
export interface OpenUpload {
  readonly lease: string;
  /** Device URL of its one disk. */
  readonly url: string;
  readonly vm: string;
}

/** Imports a VM with one disk of 8 MiB by hand, up to the point where the disk is to be uploaded. */
export async function openUpload(vim: RawVim, control: VcsimControl, name: string): Promise<OpenUpload> {
  const pool = await control.find('/DC0/host/DC0_C0/Resources');
  const folder = await control.find('/DC0/vm');
  const { text } = await vim.call(
    'ImportVApp',
    `ResourcePool:${pool?.ref ?? ''}`,
    importArguments(name, folder?.ref ?? ''),
  );
  const lease = first(text, /<returnval type="HttpNfcLease">([^<]*)/);
  for (;;) {
    const answer = await leaseInfo(vim, lease);
    if (answer.includes('>ready<')) {
      return { lease, url: first(answer, /<url>([^<]*)/), vm: first(answer, /<entity type="VirtualMachine">([^<]*)/) };
    }
  }
}

/** The answer to a read of the lease's state, info and error. */
export async function leaseInfo(vim: RawVim, lease: string): Promise<string> {
  const paths = ['state', 'info', 'error'].map((path) => `<pathSet>${path}</pathSet>`).join('');
  const spec =
    `<specSet><propSet><type>HttpNfcLease</type>${paths}</propSet>` +
    `<objectSet><obj type="HttpNfcLease">${lease}</obj></objectSet></specSet><options/>`;
  return (await vim.call('RetrievePropertiesEx', 'PropertyCollector:propertyCollector', spec)).text;
}

/** State and fault of a task, read until it is over. */
export async function taskEnd(vim: RawVim, startAnswer: string): Promise<string> {
  const task = first(startAnswer, /<returnval type="Task">([^<]*)/);
  const spec =
    '<specSet><propSet><type>Task</type><pathSet>info</pathSet></propSet>' +
    `<objectSet><obj type="Task">${task}</obj></objectSet></specSet><options/>`;
  for (;;) {
    const { text } = await vim.call('RetrievePropertiesEx', 'PropertyCollector:propertyCollector', spec);
    const state = first(text, /<state>(\w+)/);
    if (state === 'success') return state;
    if (state === 'error') return `error ${first(text, /<fault [^>]*type="(\w+)"/)}`;
  }
}

function importArguments(name: string, folder: string): string {
  const controller =
    '<deviceChange><operation>add</operation><device xsi:type="ParaVirtualSCSIController"><key>1000</key>' +
    '<busNumber>0</busNumber><sharedBus>noSharing</sharedBus></device></deviceChange>';
  const disk =
    '<deviceChange><operation>add</operation><fileOperation>create</fileOperation><device xsi:type="VirtualDisk"><key>-2</key>' +
    '<backing xsi:type="VirtualDiskFlatVer2BackingInfo"><fileName></fileName><diskMode>persistent</diskMode></backing>' +
    '<controllerKey>1000</controllerKey><unitNumber>0</unitNumber><capacityInKB>8192</capacityInKB></device></deviceChange>';
  return (
    `<spec xsi:type="VirtualMachineImportSpec"><configSpec><name>${name}</name><guestId>otherGuest64</guestId>` +
    '<files><vmPathName>[LocalDS_0]</vmPathName></files><numCPUs>1</numCPUs><memoryMB>64</memoryMB>' +
    `${controller}${disk}</configSpec></spec><folder type="Folder">${folder}</folder>`
  );
}

function first(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`No ${pattern.source} in: ${text}`);
  return found;
}
