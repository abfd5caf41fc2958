import type { Vmop } from '../../activities/vmop/objects.ts';

/** What the coordinator of an operation's VM knows from us. `submitted`: that it exists. */
export type Told = 'nothing' | 'submitted' | 'deleted';

/**
 * What a coordinator has to be told next; undefined: nothing. One that is being deleted is submitted all the same: only who
 * knows it cleans up after it. Of one that is gone there is nothing to take in.
 */
export function nextStep({
  vmop,
  told,
  isGone,
}: {
  readonly vmop: Pick<Vmop, 'isTerminal' | 'isDeleting'>;
  readonly told: Told;
  readonly isGone: boolean;
}): 'submit' | 'opDeleted' | undefined {
  if (vmop.isTerminal || told === 'deleted') return undefined;
  if (isGone) return 'opDeleted';
  if (told === 'nothing') return 'submit';
  return vmop.isDeleting ? 'opDeleted' : undefined;
}
