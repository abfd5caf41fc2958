import type { NodeRow } from '../../workflows/contracts/cluster-lookup.ts';
import type { Action } from '../commands/command.ts';
import { exitCodes } from '../exit-codes.ts';

/** `node list`: nodes as the cluster has them now. */
export const listNodes: Action<object> = async (session) => {
  const { answer } = await (await session.gateway()).lookup({ what: 'nodes' });
  const names = answer.nodes.map(({ name }) => name);
  await session.print<NodeRow>({
    kind: 'NodeList',
    document: { items: answer.nodes },
    rows: answer.nodes,
    columns: [
      { header: 'NAME', cell: ({ name }) => name },
      { header: 'READY', cell: ({ ready }) => (ready ? 'yes' : 'no') },
      { header: 'CORDONED', cell: ({ cordoned }) => (cordoned ? 'yes' : 'no') },
      { header: 'SETS', cell: ({ mains }) => String(mains) },
      { header: 'DRAINED-BY', cell: ({ drainedBy }) => drainedBy },
    ],
    names,
    ids: names,
  });
  if (answer.truncated) session.note('there are more nodes than are shown');
  if (names.length === 0) session.note('no nodes');
  return exitCodes.ok.code;
};
