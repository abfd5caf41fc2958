import type { Runtime } from '@temporalio/worker';

type MetricMeter = Runtime['metricMeter'];

/** Workflows that don't replay, that block, and payloads that are too large or nearly so: there from the start, so that one counts. */
const awaited = ['TMPRL1100', 'TMPRL1101', 'TMPRL1103'];

/** Counts the codes in the SDK's log lines: some of these troubles are on no metric of its own. */
export function codeCounter(): {
  readonly count: (code: string) => void;
  readonly begin: (meter: MetricMeter) => void;
} {
  let add: (code: string, by: number) => void = () => undefined;
  return {
    count: (code) => add(code, 1),
    /** What is logged before the SDK can measure isn't counted. */
    begin(meter) {
      const counter = meter.createCounter('vmflow_sdk_codes', '1', "Lines of the SDK's log with one of its codes");
      add = (code, by) => counter.add(by, { code });
      for (const code of awaited) add(code, 0);
    },
  };
}
