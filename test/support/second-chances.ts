/** How the tests of files ended, in tests. */
export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** How those of one file ended. */
export interface FileOutcome extends Totals {
  /** Names of the tests that failed; the file itself where it did. */
  readonly failures: readonly string[];
}

/** By file. */
export type Outcomes = ReadonlyMap<string, FileOutcome>;

/** Accidents are rare: where so many files have one, it is none. */
export const mostSecondChances = 6;

/** Tests with random runs, besides those whose name says so: that one of them fails once is what they are for. */
const randomRuns: readonly string[] = [
  'test/activities/incus/disk.test.ts',
  'test/activities/incus/nbd-qemu.test.ts',
  'test/activities/vsphere/source-disks.test.ts',
  'test/unit/activities/batch/disk-copy.test.ts',
  'test/unit/activities/incus/final-configuration.test.ts',
  'test/unit/activities/incus/marks.test.ts',
  'test/unit/activities/incus/nbd-blocks.test.ts',
  'test/unit/activities/incus/sizes.test.ts',
  'test/unit/activities/placement/expression-limits.test.ts',
  'test/unit/activities/vsphere/byte-reader.test.ts',
  'test/unit/activities/vsphere/changed-areas.test.ts',
  'test/unit/activities/vsphere/vmdk-stream.test.ts',
  'test/unit/batch/baseline.test.ts',
  'test/unit/batch/batch-file.test.ts',
  'test/unit/batch/can-place.test.ts',
  'test/unit/batch/clean-up.test.ts',
  'test/unit/batch/commits.test.ts',
  'test/unit/batch/edit-rules.test.ts',
  'test/unit/batch/effective.test.ts',
  'test/unit/batch/eta.test.ts',
  'test/unit/batch/final-check.test.ts',
  'test/unit/batch/order.test.ts',
  'test/unit/batch/os.test.ts',
  'test/unit/batch/plan-windows.test.ts',
  'test/unit/batch/slots.test.ts',
  'test/unit/batch/spec-problems.test.ts',
  'test/unit/batch/sync-merge.test.ts',
  'test/unit/batch/top-ups.test.ts',
  'test/unit/batch/window-problems.test.ts',
  'test/unit/batch/windows.test.ts',
  'test/unit/batch/zoned-time.test.ts',
  'test/unit/hibernate/invariants.test.ts',
  'test/unit/hibernate/slots.test.ts',
  'test/unit/template/names.test.ts',
  'test/unit/template/plan.test.ts',
  'test/unit/vmop/ledger.test.ts',
];

export function isRandomRun(file: string): boolean {
  return randomRuns.includes(file) || /(chaos|property)[^/]*$/.test(file);
}

/** Those with failures that may come from a busy machine; they are tried once more alone. None where they are too many. */
export function filesToRunAgain(first: Outcomes): readonly string[] {
  const files = [...first].filter(([file, { failed }]) => failed > 0 && !isRandomRun(file)).map(([file]) => file);
  return files.length > mostSecondChances ? [] : files;
}

/** What counts: of a file that was run again, how that went, unless nothing was shown by it. */
export function settled(first: Outcomes, again: Outcomes): Totals {
  const counted = [...first].map(([file, outcome]) => {
    const second = again.get(file);
    return second !== undefined && (second.failed > 0 || hasPassed(second, outcome)) ? second : outcome;
  });
  const sum = (of: (totals: Totals) => number): number => counted.reduce((total, outcome) => total + of(outcome), 0);
  return { passed: sum(({ passed }) => passed), failed: sum(({ failed }) => failed), skipped: sum((of) => of.skipped) };
}

/** For the end of the output, where nobody overlooks it; nothing when no file needed a second run to pass. */
export function passedOnlyAgain(first: Outcomes, again: Outcomes): readonly string[] {
  const lines = [...first].flatMap(([file, outcome]) => {
    const second = again.get(file);
    if (second === undefined || !hasPassed(second, outcome)) return [];
    return [`  ${file}`, ...outcome.failures.map((name) => `    ✖ ${name}`)];
  });
  return lines.length === 0 ? [] : ['passed only when run again:', ...lines];
}

/** A second run in which nothing ran, or in which what had failed was skipped, is no pass. */
function hasPassed(second: FileOutcome, first: FileOutcome): boolean {
  return second.failed === 0 && second.passed > 0 && second.skipped <= first.skipped;
}

/** A report of `node:test` about one test, suite or file. */
export interface TestReport {
  readonly name: string;
  readonly isSuite: boolean;
  readonly isSkipped: boolean;
  /** Why it failed, e.g. `testCodeFailure`; a suite or file only repeats `subtestsFailed`. Undefined: it passed. */
  readonly failureType?: string;
}

/** Counts what is reported about each of these files. */
export function createTally(files: readonly string[]): {
  add(file: string, report: TestReport): void;
  outcomes(): Outcomes;
} {
  const counts = new Map(files.map((file) => [file, { passed: 0, failed: 0, skipped: 0, failures: [] as string[] }]));
  return {
    add(file, { name, isSuite, isSkipped, failureType }) {
      const count = counts.get(file) ?? { passed: 0, failed: 0, skipped: 0, failures: [] };
      counts.set(file, count);
      if (isSkipped) count.skipped += 1;
      else if (failureType === undefined) count.passed += isSuite || name === file ? 0 : 1;
      else if (failureType !== 'subtestsFailed') {
        count.failed += 1;
        count.failures.push(name);
      }
    },
    outcomes: () => counts,
  };
}
