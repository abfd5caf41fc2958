import type { MigrateMainResult, MigrateMainStatus } from '../contracts/hibernate.ts';

/** Markdown for the Web UI: what moves where, how far it is, what it waits for, what can be done now. */
export function migrationDetails(status: MigrateMainStatus, result: MigrateMainResult | undefined): string {
  const { set, source = '?', target = 'any node', conflict } = status;
  const lines = [
    `**${set.namespace}/${set.name}**: ${source} → ${target === '' ? 'any node' : target}: ${status.status}`,
    '',
    `${status.reason}: ${status.message}`,
    '',
    ...status.steps.map(({ title, state }) => `- ${marks[state]} ${title}`),
    '',
    ...(status.vmID === undefined ? [] : [`- VM id ${status.vmID}`]),
    ...(status.snapshot?.digest === undefined ? [] : [`- snapshot ${status.snapshot.digest}`]),
    ...(status.slot === 'asked' ? [`- waits for a slot, ${status.queued ?? 0} ahead`] : []),
    ...(status.deadline === undefined ? [] : [`- until ${status.deadline}`]),
    ...(conflict === undefined ? [] : ['', `**Conflict ${conflict.id}**: ${conflict.what}`]),
    ...(conflict?.options ?? []).map(({ decision, effect }) => `- \`${decision}\`: ${effect}`),
    ...(result === undefined ? [] : proof(result)),
    ...status.next.map((command) => `- \`${command}\``),
  ];
  return lines.join('\n');
}

const marks = { pending: '·', active: '▶', done: '✔', skipped: '–', failed: '✘' } as const;

function proof({ vmIdBefore, vmIdAfter, snapshotDigest, downtimeMs }: MigrateMainResult): string[] {
  return [
    ...(vmIdBefore === undefined ? [] : [`- VM before: ${vmIdBefore}`]),
    ...(snapshotDigest === undefined ? [] : [`- snapshot: ${snapshotDigest}`]),
    ...(vmIdAfter === undefined ? [] : [`- VM now: ${vmIdAfter}`]),
    ...(downtimeMs === undefined ? [] : [`- did not run for ${(downtimeMs / 1_000).toFixed(1)} s`]),
  ];
}
