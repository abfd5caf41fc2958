import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** Middle value; of an even number the lower middle. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * (sorted.length - 1)))] ?? Number.NaN;
}

/** Spread of a series: half the distance between its quartiles, as a share of the median. */
export function spread(values: readonly number[]): number {
  return (percentile(values, 0.75) - percentile(values, 0.25)) / 2 / median(values);
}

/** A peer that varies more than this makes a run inconclusive, not failed. */
export const largestSpread = 0.15;

/** CPU seconds that a process has used so far, from `/proc`. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Largest resident memory of a process so far, MiB. */
export function peakRssMiB(pid: number | 'self' = 'self'): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

export interface Verdict {
  readonly what: string;
  readonly measured: number;
  readonly unit: string;
  readonly target: string;
  readonly holds: boolean;
}

/** One benchmark's outcome: a JSON line for machines, rows for people. */
export interface Outcome {
  readonly name: string;
  readonly numbers: Readonly<Record<string, unknown>>;
  readonly verdicts: readonly Verdict[];
  /** The peer varied too much for a verdict. */
  readonly inconclusive: boolean;
}

export function environment(): Readonly<Record<string, unknown>> {
  return {
    at: new Date().toISOString(),
    commit: execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim(),
    node: process.version,
    sdk: '1.24.0',
    server: 'Temporal dev server 1.29.1, in-memory SQLite',
    cpu: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`,
  };
}

/** Rounds of A, B, B, A with one warm-up round thrown away. */
export async function alternate(rounds: number, a: () => Promise<void>, b: () => Promise<void>): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? [a, b] : [b, a];
    for (const run of order) await run();
  }
}

export function round(value: number, digits = 2): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
