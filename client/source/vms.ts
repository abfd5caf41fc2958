import type { SourceVm } from '../../workflows/contracts/batch-lookup.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';
import { defined } from '../objects.ts';
import { formatBytes, formatTime } from '../output/units.ts';
import { pagesOf } from '../vm/pages.ts';

export interface VmsFlags {
  readonly filter?: string;
}

/** `source vms NAME`: VMs of a source as it has them now. */
export const listSourceVms: Action<VmsFlags> = async (session, [source = ''], flags) => {
  const gateway = await session.gateway();
  const wanted = defined({ filter: flags.filter });
  const { items: rows, isComplete } = await pagesOf(
    async (after) => (await gateway.lookup({ what: 'source-vms', source, ...wanted, ...after })).answer,
  );
  await session.print<SourceVm>({
    kind: 'SourceVmList',
    document: { items: rows },
    rows,
    columns: [
      { header: 'NAME', cell: ({ name }) => name },
      { header: 'LOCATION', cell: ({ location }) => location },
      { header: 'OS', cell: osText },
      { header: 'CPUS', cell: ({ cpus }) => String(cpus) },
      { header: 'MEMORY', cell: ({ memory }) => formatBytes(memory) },
      { header: 'DISKS', cell: ({ disks, size }) => `${String(disks)} (${formatBytes(size)})` },
      { header: 'RUNNING', cell: ({ running }) => (running ? 'yes' : 'no') },
      { header: 'BACKGROUND', cell: ({ background_import }) => (background_import ? 'yes' : 'no') },
      { header: 'RESTRICTION', cell: ({ restriction }) => restriction, wide: true },
      { header: 'UUID', cell: ({ uuid }) => uuid, wide: true },
      { header: 'ID', cell: ({ source_specific_id }) => source_specific_id, wide: true },
      {
        header: 'UPDATED',
        cell: (vm) => formatTime(vm.last_update_from_source, session.flags.time, session.runtime.now()),
        wide: true,
      },
    ],
    names: rows.map(({ name }) => name),
    ids: rows.map(({ uuid }) => uuid),
  });
  if (!isComplete) session.note('there are more VMs than are shown; narrow it with --filter');
  if (rows.length === 0) session.note('no such VMs');
  return exitCodes.ok.code;
};

function osText({ os_type, distribution, distribution_version }: SourceVm): string {
  const known = distribution === 'other' || distribution === '' ? os_type : distribution;
  return `${known} ${distribution_version}`.trim();
}
