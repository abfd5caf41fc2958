import { workflowInfo } from '@temporalio/workflow';
import type { ActiveOperation, CoordinatorStatus } from '../contracts/vmop.ts';
import { inWords, superseders } from '../domain/vmop/matrix.ts';
import { pane, plain, table } from '../domain/markdown.ts';

export function coordinatorStatus(
  { namespace, vmName }: { readonly namespace: string; readonly vmName: string },
  active: readonly ActiveOperation[],
  since: string,
  trouble?: string,
): CoordinatorStatus {
  const newest = active.at(-1);
  return {
    kind: 'vm-coordinator',
    id: workflowInfo().workflowId,
    status: newest === undefined ? 'Idle' : 'Active',
    reason: trouble !== undefined ? 'Trouble' : newest === undefined ? 'NothingActive' : `${newest.type}Active`,
    message:
      trouble ??
      (newest === undefined
        ? `no operation on ${namespace}/${vmName} is active`
        : `${inWords(newest)} (${newest.name}) on ${namespace}/${vmName} is active`),
    since,
    ...(newest === undefined ? {} : { waitingFor: 'far-side' }),
    steps: active.map(({ name, uid, type, force, seq, stage }) => ({
      id: uid,
      title: `${inWords({ type, ...(force === undefined ? {} : { force }) })} (${name})`,
      state: stage === 'running' ? 'active' : 'pending',
      detail: `number ${seq}`,
    })),
    next: active.map(({ name }) => `vmflow op watch ${name} -n ${namespace}`),
    active,
  };
}

/** Markdown for the Web UI. */
export function coordinatorDetails({ message, active }: CoordinatorStatus): string {
  const rows = active.map((op) => {
    const takers = superseders(op).map((kind) => inWords(kind));
    return [String(op.seq), plain(op.name), inWords(op), op.stage, takers.join('; ') || 'nothing'];
  });
  const head = ['number', 'operation', 'type', 'stage', 'can be superseded by'];
  return pane([`**${plain(message)}**`, rows.length === 0 ? '' : table(head, rows)]);
}
