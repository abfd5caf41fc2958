import type { Client } from '@temporalio/client';
import { Gauge, type Registry } from 'prom-client';
import { searchKeys, type OperationKind } from '../../workflows/contracts/attributes.ts';

/** What people start and wait for; the others serve these. */
const shownKinds: readonly OperationKind[] = [
  'template-swap',
  'template-swap-fleet',
  'vm-operation',
  'hibernate-migration',
  'hibernation',
  'drain',
  'batch',
  'migration',
  'copy-pass',
];

/** Of these a person may have to decide something. */
const withConflicts: readonly OperationKind[] = ['template-swap', 'hibernate-migration', 'migration'];

/** Milliseconds. A scrape has ten seconds as a rule; several that come at once are one question. */
const limits = { countMs: 5_000, keepMs: 5_000 } as const;

interface Counts {
  readonly open: ReadonlyMap<OperationKind, number>;
  readonly conflicts: ReadonlyMap<OperationKind, number>;
}

/** Counts anew what is open, at each scrape. Without Temporal there are no such series, and `vmflow_bridge_temporal_reachable` is 0. */
export function openMetrics(registry: Registry, client: Client): void {
  let last: { readonly at: number; readonly counts: Promise<Counts | undefined> } | undefined;
  const counts = (): Promise<Counts | undefined> => {
    const now = performance.now();
    if (last === undefined || now - last.at > limits.keepMs)
      last = { at: now, counts: countAll(client).catch(() => undefined) };
    return last.counts;
  };
  gauge(registry, 'vmflow_operations_open', 'Operations that have not ended, by kind.', counts, ({ open }) => open);
  gauge(registry, 'vmflow_conflicts_open', 'Operations that wait for a person, by kind.', counts, (of) => of.conflicts);
  new Gauge({
    name: 'vmflow_bridge_temporal_reachable',
    help: 'Whether Temporal told what is open: 1, else 0.',
    registers: [registry],
    async collect() {
      this.set((await counts()) === undefined ? 0 : 1);
    },
  });
}

function gauge(
  registry: Registry,
  name: string,
  help: string,
  counts: () => Promise<Counts | undefined>,
  of: (counts: Counts) => ReadonlyMap<OperationKind, number>,
): void {
  new Gauge({
    name,
    help,
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      const found = await counts();
      this.reset();
      if (found !== undefined) for (const [kind, count] of of(found)) this.set({ kind }, count);
    },
  });
}

function countAll(client: Client): Promise<Counts> {
  const running = (kind: OperationKind): string =>
    `${searchKeys.kind.name} = '${kind}' AND ExecutionStatus = 'Running'`;
  const count = async (
    kinds: readonly OperationKind[],
    query: (kind: OperationKind) => string,
  ): Promise<ReadonlyMap<OperationKind, number>> =>
    new Map(
      await Promise.all(kinds.map(async (kind) => [kind, (await client.workflow.count(query(kind))).count] as const)),
    );
  return client.withDeadline(Date.now() + limits.countMs, async () => ({
    open: await count(shownKinds, running),
    conflicts: await count(withConflicts, (kind) => `${running(kind)} AND ${searchKeys.conflict.name} IS NOT NULL`),
  }));
}
