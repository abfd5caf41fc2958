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

/** The kinds of VM operations: the request, the VM, and the layer below it (machine, running instance, migration). */
export const resources = {
  vmop: virtualization('virtualmachineoperations', 'VirtualMachineOperation'),
  vm: virtualization('virtualmachines', 'VirtualMachine'),
  machine: internal('virtualmachines', 'VirtualMachine'),
  instance: internal('virtualmachineinstances', 'VirtualMachineInstance'),
  migration: internal('virtualmachineinstancemigrations', 'VirtualMachineInstanceMigration'),
  event: { group: '', version: 'v1', plural: 'events', kind: 'Event' },
} as const satisfies Readonly<Record<string, Resource>>;
