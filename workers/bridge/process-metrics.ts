import { Gauge, type Registry } from 'prom-client';

/** What `/readyz` says, part by part: an alert can name the one that fails. */
export function readinessMetric(registry: Registry, readiness: () => Readonly<Record<string, boolean>>): void {
  new Gauge({
    name: 'vmflow_bridge_ready',
    help: 'Whether a part of the bridge is ready: 1, else 0.',
    labelNames: ['part'],
    registers: [registry],
    collect() {
      for (const [part, isReady] of Object.entries(readiness())) this.set({ part }, isReady ? 1 : 0);
    },
  });
}

/** Since when the record of who did what is complete; the start of the process where it never was. */
export function historyMetric(registry: Registry, lastLookAt: () => Date | undefined): void {
  const startedAt = new Date();
  new Gauge({
    name: 'vmflow_history_complete_timestamp_seconds',
    help: 'When all that had ended was last in the history file.',
    registers: [registry],
    collect() {
      this.set((lastLookAt() ?? startedAt).getTime() / 1_000);
    },
  });
}
