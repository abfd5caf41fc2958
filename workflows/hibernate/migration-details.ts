import type { MigrateMainResult, MigrateMainStatus } from '../contracts/hibernate.ts';
import { code, lines, pane, plain } from '../domain/markdown.ts';
import { fromTerminal, stepList } from '../shared/pane-parts.ts';
import { question } from '../shared/send-here.ts';

/** Markdown for the Web UI: what moves where, what it waits for, what can be done now, how far it is. */
export function migrationDetails(status: MigrateMainStatus, result: MigrateMainResult | undefined): string {
  const { set, source = '?', target = '', conflict, next } = status;
  const way = `${source} → ${target === '' ? 'any node' : target}`;
  return pane([
    `**${plain(`${set.namespace}/${set.name}`)}**: ${plain(way)}: ${status.status}`,
    plain(`${status.reason}: ${status.message}`),
    ...(conflict === undefined ? [] : question(conflict)),
    ...fromTerminal(next),
    lines(result === undefined ? facts(status) : proof(result)),
    '### Steps',
    stepList(status.steps),
  ]);
}

function facts({ vmID, snapshot, slot, queued = 0, deadline }: MigrateMainStatus): string[] {
  return [
    ...(vmID === undefined ? [] : [`VM id ${code(vmID)}`]),
    ...(snapshot?.digest === undefined ? [] : [`snapshot ${code(snapshot.digest)}`]),
    ...(slot === 'asked' ? [`waits for a slot, ${queued} ahead`] : []),
    ...(deadline === undefined ? [] : [`until ${deadline}`]),
  ];
}

function proof({ vmIdBefore, vmIdAfter, snapshotDigest, downtimeMs }: MigrateMainResult): string[] {
  return [
    ...(vmIdBefore === undefined ? [] : [`VM before: ${code(vmIdBefore)}`]),
    ...(snapshotDigest === undefined ? [] : [`snapshot: ${code(snapshotDigest)}`]),
    ...(vmIdAfter === undefined ? [] : [`VM now: ${code(vmIdAfter)}`]),
    ...(downtimeMs === undefined ? [] : [`did not run for ${(downtimeMs / 1_000).toFixed(1)} s`]),
  ];
}
