import type { VmInfo } from '../../workflows/contracts/cluster-lookup.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import { ageOf } from '../op/list.ts';
import { kubeNamespace, type PlaceFlags } from './place.ts';
import { allVms } from './targets.ts';

export interface ListFlags extends PlaceFlags {
  readonly selector?: string;
  readonly allNamespaces?: boolean;
  readonly phase?: string;
}

/** `vm list`: VMs as the cluster has them now. */
export const listVms: Action<ListFlags> = async (session, _args, flags) => {
  const namespace = flags.allNamespaces === true ? undefined : kubeNamespace(session, flags);
  const { items, isComplete } = await allVms(session, { namespace, selector: flags.selector });
  const rows = items.filter(
    ({ phase }) => flags.phase === undefined || phase.toLowerCase() === flags.phase.toLowerCase(),
  );
  await session.print<VmInfo>({
    kind: 'VirtualMachineList',
    document: { items: rows },
    rows,
    columns: [
      { header: 'NAME', cell: ({ name, namespace: of }) => (namespace === undefined ? `${of}/${name}` : name) },
      { header: 'PHASE', cell: ({ phase }) => phase },
      { header: 'NODE', cell: ({ nodeName }) => nodeName },
      { header: 'RUN-POLICY', cell: ({ runPolicy }) => runPolicy },
      { header: 'AGE', cell: ({ createdAt }) => ageOf(session, createdAt) },
      { header: 'IP', cell: ({ ipAddress }) => ipAddress, wide: true },
      {
        header: 'RESTART-PENDING',
        cell: ({ restartPending }) => (restartPending === true ? 'yes' : undefined),
        wide: true,
      },
      { header: 'UID', cell: ({ uid }) => uid, wide: true },
    ],
    names: rows.map((vm) => `${vm.namespace}/${vm.name}`),
    ids: rows.map((vm) => `${vm.namespace}/${vm.name}`),
  });
  if (!isComplete) session.note('there are more VMs than are shown; narrow it with -n or -l');
  if (rows.length === 0) session.note('no such VMs');
  return exitCodes.ok.code;
};
