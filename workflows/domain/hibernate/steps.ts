/** What people see of a migration: the step it is at. */
const facts = {
  None: { says: 'nothing to move' },
  Waiting: { says: 'waiting' },
  Blocked: { says: 'held up' },
  Preparing: { says: 'checking the target and waiting for a slot', progress: 0.05 },
  Snapshotting: { says: 'the node agent stores memory and disks', progress: 0.2 },
  RemovingOldPod: { says: 'removing the Pod on the old node', progress: 0.5 },
  Retargeting: { says: 'replacing a Pod that is tied to another node', progress: 0.55 },
  CreatingTargetPod: { says: 'creating the Pod for the target', progress: 0.6 },
  Scheduling: { says: 'waiting for room on the target', progress: 0.65 },
  Restoring: { says: 'the node agent restores the VM', progress: 0.75 },
  CleaningUp: { says: 'dropping the snapshot', progress: 0.95 },
  Done: { says: 'done', progress: 1 },
} as const satisfies Readonly<Record<string, { readonly says: string; readonly progress?: number }>>;

export type Shown = keyof typeof facts;

export const shownSteps: Readonly<Record<Shown, { readonly says: string; readonly progress?: number }>> = facts;

/** Share of the whole, 0…1; absent: as before. */
export function progressOf(shown: Shown): number | undefined {
  return shownSteps[shown].progress;
}

/** The whole way, shown from the start. */
export const way: readonly { readonly id: Shown; readonly title: string }[] = [
  { id: 'Preparing', title: 'check the target, wait for a slot' },
  { id: 'Snapshotting', title: 'store memory and disks' },
  { id: 'RemovingOldPod', title: 'remove the old Pod' },
  { id: 'CreatingTargetPod', title: 'create the Pod for the target' },
  { id: 'Scheduling', title: 'find room on the target' },
  { id: 'Restoring', title: 'restore the VM' },
  { id: 'CleaningUp', title: 'drop the snapshot' },
];
