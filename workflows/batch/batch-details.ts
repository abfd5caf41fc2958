import type { BatchView } from '../contracts/batch.ts';
import { code, lines, list, pane, plain } from '../domain/markdown.ts';
import { fromTerminal } from '../shared/pane-parts.ts';

/** Markdown for the Web UI: how many VMs are how far, what the windows hold, what can be done now. */
export function batchDetails({
  batch,
  status,
  members,
  message,
  counts,
  windows,
  waitingFor,
  next,
}: BatchView): string {
  return pane([
    `**${plain(batch)}**: ${status}, ${members} VMs. ${plain(message)}`,
    list(Object.entries(counts).map(([phase, count]) => `${count} ${phase}`)),
    waitingFor === 'person' ? `Whom it waits for is found in the list of workflows by ${code(needingOf(batch))}` : '',
    lines(
      windows.map(
        ({ name, state, held, capacity }) =>
          `window ${plain(name)}: ${state}, ${held} of ${capacity === 0 ? '∞' : capacity} places taken`,
      ),
    ),
    ...fromTerminal(next),
  ]);
}

/** Who of a batch waits for a person, as a filter of the Web UI. */
function needingOf(batch: string): string {
  return `OpKind = "migration" AND OpBatch = "${batch}" AND OpWaitingFor = "person"`;
}
