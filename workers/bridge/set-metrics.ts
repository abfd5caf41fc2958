import { Gauge, type Registry } from 'prom-client';
import type { KubeObject, ResourceWatch } from '../../activities/kubernetes/port.ts';
import { conditionOf } from '../../activities/vmop/objects.ts';
import { cocoonKeys } from '../../workflows/contracts/hibernate.ts';
import type { Condition } from '../../workflows/domain/conditions.ts';
import { parseRecord, type MigrationRecord } from '../../workflows/domain/hibernate/record.ts';
import { reasons } from '../../workflows/domain/hibernate/reasons.ts';

/** Series about migrations of sets, counted anew from the watch whenever they are asked for. */
export function setMetrics(registry: Registry, sets: ResourceWatch): void {
  const records = (): readonly MigrationRecord[] => sets.items().flatMap((set) => recordOf(set) ?? []);
  counted(registry, 'cocoon_migration_in_flight', 'Main VMs that are leaving a node or coming to it.', {
    labels: ['node', 'role'],
    each: () => records().flatMap(endsOf),
  });
  counted(registry, 'cocoon_migration_blocked', 'Sets whose main VM is wanted elsewhere and can’t go, by reason.', {
    labels: ['reason'],
    each: () => sets.items().flatMap(obstacleOf),
  });
  new Gauge({
    name: 'cocoon_snapshot_cleanup_debt',
    help: 'VMs that run on their target while the snapshot that they came from is still in the registry.',
    registers: [registry],
    collect() {
      this.set(records().filter(({ stage }) => stage === 'cleanup').length);
    },
  });
}

function recordOf({ metadata }: KubeObject): MigrationRecord | undefined {
  return parseRecord(metadata.annotations?.[cocoonKeys.migration]);
}

/** One whose snapshot is only to be dropped has arrived. Without a target it is on its way to wherever there is room. */
function endsOf({ stage, from, to }: MigrationRecord): { node: string; role: 'source' | 'target' }[] {
  if (stage === 'cleanup') return [];
  return [
    ...(from === '' ? [] : [{ node: from, role: 'source' as const }]),
    ...(to === '' ? [] : [{ node: to, role: 'target' as const }]),
  ];
}

/** A migration that has ended is not blocked, though its condition is False as well. */
function obstacleOf({ status }: KubeObject): { reason: string }[] {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly Condition[] };
  const migrating = conditionOf(conditions, 'Migrating');
  if (migrating?.status !== 'False' || !Object.hasOwn(reasons, migrating.reason)) return [];
  return [{ reason: migrating.reason }];
}

interface Counted<Label extends string> {
  readonly labels: readonly Label[];
  /** Labels of everything that is to be counted. */
  readonly each: () => readonly Readonly<Record<Label, string>>[];
}

/** How many there are of each combination of labels. One that there is none of any more vanishes. */
function counted<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  { labels, each }: Counted<Label>,
): void {
  new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect() {
      this.reset();
      for (const one of each()) this.inc(one);
    },
  });
}
