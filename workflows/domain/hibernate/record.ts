import { isText, optional, shapeProblem, type Rules } from '../shape.ts';

export const stages = ['preparing', 'quiescing', 'moving', 'restoring', 'cleanup'] as const;
export type Stage = (typeof stages)[number];

/**
 * What a migration writes on its set (annotation `vmflow.dev/migration`), so that everything can be rebuilt from the cluster
 * alone. It may be lost: nothing unsafe follows from that. Where it contradicts what is observed, what is observed wins.
 */
export interface MigrationRecord {
  /** The same for every attempt to begin at one generation of the set. */
  readonly id: string;
  /** Generation of the set when the migration last set or removed the hibernate flag: what the agent said about a later one, it said afterwards. */
  readonly generation: number;
  readonly from: string;
  /** Empty: wherever there is room. */
  readonly to: string;
  readonly sourcePodUID: string;
  /** Empty: unknown. */
  readonly sourceVMID: string;
  readonly snapshotDigest?: string;
  readonly startedAt: string;
  readonly stage: Stage;
  /** When this stage began: what its deadlines count from. */
  readonly stageAt: string;
  /** The agent took too long at this generation: don't begin again at it unless somebody asks. */
  readonly barredAt?: number;
  /** A restore Pod to replace; once it is gone, no other is created before `until`, because its agent may still be at it. */
  readonly redo?: { readonly podUID: string; readonly until?: string };
}

const isNumber = (value: unknown): boolean => Number.isSafeInteger(value);

const rules: Rules = {
  id: isText,
  generation: isNumber,
  from: isText,
  to: isText,
  sourcePodUID: isText,
  sourceVMID: isText,
  snapshotDigest: optional(isText),
  startedAt: isTime,
  stage: (value) => stages.some((stage) => stage === value),
  stageAt: isTime,
  barredAt: optional(isNumber),
  redo: optional((value) => shapeProblem(value, { podUID: isText, until: optional(isTime) }) === undefined),
};

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

/** The record in an annotation. One that can't be read is as good as none. */
export function parseRecord(annotation: string | undefined): MigrationRecord | undefined {
  if (annotation === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(annotation);
    return shapeProblem(value, rules) === undefined ? (value as MigrationRecord) : undefined;
  } catch {
    // Not JSON: somebody else wrote it.
    return undefined;
  }
}

/** Always in the same order: equal records are equal texts. */
export function formatRecord(record: MigrationRecord): string {
  return JSON.stringify(
    Object.fromEntries(Object.keys(rules).map((key) => [key, record[key as keyof MigrationRecord]])),
  );
}

export function isSameRecord(a: MigrationRecord | undefined, b: MigrationRecord | undefined): boolean {
  return a === undefined || b === undefined ? a === b : formatRecord(a) === formatRecord(b);
}
