import type { VmOperationStatus } from '../contracts/vmop.ts';
import { inWords } from '../domain/vmop/matrix.ts';

/** Markdown for the Web UI: who acts on what, who took over from whom, what can be done now. */
export function operationDetails(status: VmOperationStatus): string {
  const { op, supersedes, supersededBy, supersedableBy } = status;
  const lines = [
    `**${inWords(op)}** of ${op.namespace}/${op.vmName}: ${status.status}, ${status.message}`,
    '',
    `- operation ${op.name}, number ${op.seq}${op.by === undefined ? '' : `, requested by ${op.by}`}`,
    ...(supersedes.length === 0 ? [] : [`- takes over from ${supersedes.map(({ name }) => name).join(', ')}`]),
    ...(supersededBy === undefined ? [] : [`- superseded by **${supersededBy.name}**`]),
    ...(supersedableBy.length === 0 ? [] : [`- can be superseded by: ${supersedableBy.join('; ')}`]),
    ...status.next.map((command) => `- \`${command}\``),
  ];
  return lines.join('\n');
}
