import type { VmOperationStatus } from '../contracts/vmop.ts';
import { inWords } from '../domain/vmop/matrix.ts';
import { lines, pane, plain } from '../domain/markdown.ts';
import { fromTerminal } from '../shared/pane-parts.ts';

/** Markdown for the Web UI: who acts on what, who took over from whom, what can be done now. */
export function operationDetails(status: VmOperationStatus): string {
  const { op, supersedes, supersededBy, supersedableBy, next } = status;
  return pane([
    `**${inWords(op)}** of ${plain(`${op.namespace}/${op.vmName}`)}: ${status.status}, ${plain(status.message)}`,
    lines([
      plain(`operation ${op.name}, number ${op.seq}${op.by === undefined ? '' : `, requested by ${op.by}`}`),
      ...(supersedes.length === 0 ? [] : [plain(`takes over from ${supersedes.map(({ name }) => name).join(', ')}`)]),
      ...(supersededBy === undefined ? [] : [`superseded by **${plain(supersededBy.name)}**`]),
      ...(supersedableBy.length === 0 ? [] : [`can be superseded by: ${supersedableBy.join('; ')}`]),
    ]),
    ...fromTerminal(next),
  ]);
}
