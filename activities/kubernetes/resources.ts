import { cocoonGroup } from '../../workflows/contracts/hibernate.ts';
import { internalGroup, virtualizationGroup } from '../../workflows/contracts/vmop.ts';
import type { Resource } from './port.ts';

const virtualization = (plural: string, kind: string): Resource => ({
  group: virtualizationGroup,
  version: 'v1alpha2',
  plural,
  kind,
});
const internal = (plural: string, kind: string): Resource => ({
  group: internalGroup,
  version: 'v1',
  plural: `internalvirtualization${plural}`,
  kind: `InternalVirtualization${kind}`,
});

const cocoon = (plural: string, kind: string): Resource => ({ group: cocoonGroup, version: 'v1', plural, kind });
const core = (plural: string, kind: string): Resource => ({ group: '', version: 'v1', plural, kind });

/**
 * The kinds of VM operations: the request, the VM, and the layer below it (machine, running instance, migration); and those of
 * sets of VMs, whose VMs are Pods.
 */
export const resources = {
  vmop: virtualization('virtualmachineoperations', 'VirtualMachineOperation'),
  vm: virtualization('virtualmachines', 'VirtualMachine'),
  machine: internal('virtualmachines', 'VirtualMachine'),
  instance: internal('virtualmachineinstances', 'VirtualMachineInstance'),
  migration: internal('virtualmachineinstancemigrations', 'VirtualMachineInstanceMigration'),
  set: cocoon('cocoonsets', 'CocoonSet'),
  hibernation: cocoon('cocoonhibernations', 'CocoonHibernation'),
  pod: core('pods', 'Pod'),
  node: core('nodes', 'Node'),
  event: core('events', 'Event'),
} as const satisfies Readonly<Record<string, Resource>>;
