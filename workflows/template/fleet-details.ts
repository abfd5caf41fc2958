import type { TemplateSwapFleetStatus } from '../contracts/template.ts';
import { codeBlock, lines, moment, pane, plain } from '../domain/markdown.ts';
import { stepLine } from './details.ts';

/** The Web UI's details pane of a fleet: how each swap is going. What one waits for stands in its own execution. */
export function fleetDetails(status: TemplateSwapFleetStatus): string {
  const percent = Math.round((status.progress ?? 0) * 100);
  return pane([
    lines([`**${status.status}** · ${percent} %`, `since ${moment(status.since)}`]),
    `${plain(status.message)}.`,
    lines(status.steps.map(stepLine)),
    status.next.length === 0
      ? ''
      : `Each swap is an execution of its own: tab *Relationships*, or from a terminal:\n\n${codeBlock(status.next.join('\n'))}`,
  ]);
}
