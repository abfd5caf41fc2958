import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import type { ResourceWatch } from '../../activities/kubernetes/port.ts';
import { conditionOf, vmopOf, type Vmop } from '../../activities/vmop/objects.ts';
import { vmopPhases, type VmopPhase } from '../../workflows/contracts/vmop.ts';
import type { OperationKind } from '../../workflows/domain/vmop/matrix.ts';
import { setMetrics } from './set-metrics.ts';

const prefix = 'virtualmachineoperation';
const ofOperation = ['name', 'namespace', 'uid', 'type', 'virtualmachine'] as const;
const ofPair = ['incumbent_type', 'newcomer_type', 'force'] as const;

export interface BridgeMetrics {
  readonly registry: Registry;
  readonly rejected: (incumbent: OperationKind, newcomer: OperationKind) => void;
  readonly superseded: (incumbent: OperationKind, newcomer: OperationKind) => void;
}

/** What the bridge knows of itself. */
export interface BridgeState {
  readonly pending: () => number;
  readonly certificateEndsAt: () => Date | undefined;
}

/**
 * Series of operations are made from the watch whenever they are asked for: they vanish with their object.
 * @param sets absent: the bridge doesn't watch any
 */
export function bridgeMetrics(watch: ResourceWatch, state: BridgeState, sets?: ResourceWatch): BridgeMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const vmops = (): readonly Vmop[] => watch.items().map((object) => vmopOf(object));
  phases(registry, vmops);
  for (const [name, { help, at }] of Object.entries(moments)) moment(registry, `${prefix}_${name}`, help, vmops, at);
  own(registry, state);
  if (sets !== undefined) setMetrics(registry, sets);
  const supersedes = counter(registry, 'supersedes_total', 'Operations that a newer one took over.');
  const rejections = counter(registry, 'rejections_total', 'Operations that were refused because another was active.');
  return {
    registry,
    superseded: (incumbent, newcomer) => supersedes.inc(pairOf(incumbent, newcomer)),
    rejected: (incumbent, newcomer) => rejections.inc(pairOf(incumbent, newcomer)),
  };
}

/** One that was taken over counts as such whatever phase it was given: it is no success. */
export function shownPhase(vmop: Vmop): VmopPhase | undefined {
  return isSuperseded(vmop) ? 'Superseded' : vmop.phase;
}

export function isSuperseded(vmop: Vmop): boolean {
  return vmop.isTerminal && conditionOf(vmop.conditions, 'Completed')?.reason === 'Superseded';
}

function phases(registry: Registry, vmops: () => readonly Vmop[]): void {
  new Gauge({
    name: `${prefix}_status_phase`,
    help: 'The phase of an operation: 1 for the one it is in, 0 for the others.',
    labelNames: [...ofOperation, 'phase'],
    registers: [registry],
    collect() {
      this.reset();
      for (const vmop of vmops()) {
        const labels = labelsOf(vmop);
        const shown = shownPhase(vmop);
        for (const phase of vmopPhases) this.set({ ...labels, phase }, phase === shown ? 1 : 0);
      }
    },
  });
}

interface Moment {
  readonly help: string;
  /** ISO 8601. */
  readonly at: (vmop: Vmop) => string | undefined;
}

const moments: Readonly<Record<string, Moment>> = {
  created_timestamp_seconds: { help: 'When an operation was created.', at: ({ ref }) => ref.createdAt },
  started_timestamp_seconds: {
    help: 'When the signal of an operation was sent.',
    at({ conditions }) {
      const sent = conditionOf(conditions, 'SignalSent');
      return sent?.status === 'True' ? sent.lastTransitionTime : undefined;
    },
  },
  finished_timestamp_seconds: {
    help: 'When an operation ended, in whatever way.',
    at: ({ isTerminal, conditions }) =>
      isTerminal ? conditionOf(conditions, 'Completed')?.lastTransitionTime : undefined,
  },
};

function moment(registry: Registry, name: string, help: string, vmops: () => readonly Vmop[], at: Moment['at']): void {
  new Gauge({
    name,
    help,
    labelNames: ofOperation,
    registers: [registry],
    collect() {
      this.reset();
      for (const vmop of vmops()) {
        const time = at(vmop);
        if (time !== undefined) this.set(labelsOf(vmop), Date.parse(time) / 1_000);
      }
    },
  });
}

function own(registry: Registry, { pending, certificateEndsAt }: BridgeState): void {
  new Gauge({
    name: 'vmflow_bridge_pending_operations',
    help: 'Operations whose coordinator does not know their newest state yet.',
    registers: [registry],
    collect() {
      this.set(pending());
    },
  });
  new Gauge({
    name: 'vmflow_bridge_certificate_end_timestamp_seconds',
    help: 'When the certificate that the webhook shows ends.',
    registers: [registry],
    collect() {
      const end = certificateEndsAt();
      if (end !== undefined) this.set(end.getTime() / 1_000);
    },
  });
}

function counter(registry: Registry, name: string, help: string): Counter<(typeof ofPair)[number]> {
  return new Counter({ name: `${prefix}_${name}`, help, labelNames: ofPair, registers: [registry] });
}

function pairOf(incumbent: OperationKind, newcomer: OperationKind): Record<(typeof ofPair)[number], string> {
  return { incumbent_type: incumbent.type, newcomer_type: newcomer.type, force: String(newcomer.force ?? false) };
}

function labelsOf({ ref }: Vmop): Record<(typeof ofOperation)[number], string> {
  return { name: ref.name, namespace: ref.namespace, uid: ref.uid, type: ref.type, virtualmachine: ref.vmName };
}
