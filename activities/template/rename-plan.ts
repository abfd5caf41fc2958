/** Where the old VM stands, by its name. */
export type OldName = 'prod' | 'aside' | 'gone' | 'other';
/** Where the new VM stands, by its name. */
export type NextName = 'from' | 'prod' | 'gone' | 'other';

/**
 * `step-aside`: rename the old one away. `step-in`: give the name to the new one. `give-back`: the new one is gone, so the old
 * one gets its name back. `foreign`: somebody renamed what is ours. `plan-again`: nothing is lost, look again.
 */
export type RenameStep = 'step-aside' | 'step-in' | 'done' | 'give-back' | 'plan-again' | 'foreign';

const table: Readonly<Record<OldName, Readonly<Record<NextName, RenameStep>>>> = {
  prod: { from: 'step-aside', prod: 'foreign', gone: 'plan-again', other: 'foreign' },
  aside: { from: 'step-in', prod: 'done', gone: 'give-back', other: 'give-back' },
  gone: { from: 'step-in', prod: 'done', gone: 'plan-again', other: 'foreign' },
  other: { from: 'plan-again', prod: 'done', gone: 'plan-again', other: 'plan-again' },
};

/** What the two names ask for next. Decided by reference, so a late duplicate of a swap finds nothing to do. */
export function renameStep(old: OldName, next: NextName): RenameStep {
  return table[old][next];
}
