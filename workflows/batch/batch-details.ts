import type { BatchView } from '../contracts/batch.ts';
import { lines, list, pane, plain } from '../domain/markdown.ts';
import { fromTerminal } from '../shared/pane-parts.ts';

/** Markdown for the Web UI: how many VMs are how far, what the windows hold, what can be done now. */
export function batchDetails({ batch, status, members, message, counts, windows, next }: BatchView): string {
  return pane([
    `**${plain(batch)}**: ${status}, ${members} VMs. ${plain(message)}`,
    list(Object.entries(counts).map(([phase, count]) => `${count} ${phase}`)),
    lines(
      windows.map(
        ({ name, state, held, capacity }) =>
          `window ${plain(name)}: ${state}, ${held} of ${capacity === 0 ? '∞' : capacity} places taken`,
      ),
    ),
    ...fromTerminal(next),
  ]);
}
