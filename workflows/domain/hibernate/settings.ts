/** How long things may take. Nothing destructive ever follows from a deadline: it is shown, or the VM is left running. */
export interface MigrationSettings {
  /** `off`: a migration starts without looking at the target. */
  readonly preflight: 'strict' | 'off';
  readonly quiesceSoftMs: number;
  readonly quiesceHardMs: number;
  readonly restoreSoftMs: number;
  readonly restoreHardMs: number;
  readonly stuckPodMs: number;
  readonly unschedulableMs: number;
  /** A snapshot that can't be dropped is shown after the first, and no longer holds up the set after the second. */
  readonly cleanupSoftMs: number;
  readonly cleanupHardMs: number;
  /** How long an agent may take to notice that a Pod it is restoring is gone. */
  readonly fenceMs: number;
  /** Remove a Pod that hangs in deletion on a lost node, when its VM is proven to be gone. */
  readonly forceDeleteQuiesced: boolean;
  /** How long a node must be lost for that. */
  readonly nodeLostMs: number;
  /** How far the clock of whoever pushed a snapshot may be behind the cluster's. */
  readonly clockSkewMs: number;
  readonly suspendMs: number;
  readonly hibernateMs: number;
  readonly wakeMs: number;
}

const second = 1_000;
const minute = 60 * second;

export const defaultSettings: MigrationSettings = {
  preflight: 'strict',
  // A snapshot of a common VM is stored in well under a minute.
  quiesceSoftMs: 3 * minute,
  // Agents retry with growing pauses; what hasn't worked by then needs a person.
  quiesceHardMs: 30 * minute,
  restoreSoftMs: 5 * minute,
  restoreHardMs: 30 * minute,
  stuckPodMs: minute,
  unschedulableMs: 30 * second,
  cleanupSoftMs: minute,
  cleanupHardMs: 5 * minute,
  fenceMs: 2 * minute,
  forceDeleteQuiesced: false,
  nodeLostMs: 5 * minute,
  clockSkewMs: minute,
  suspendMs: 3 * minute,
  hibernateMs: 3 * minute,
  wakeMs: 5 * minute,
};

/** What is wrong with a set of settings, in one sentence; undefined: nothing. */
export function settingsProblem(settings: MigrationSettings): string | undefined {
  const spans = Object.entries(settings).filter(([, value]) => typeof value === 'number');
  const wrong = spans.find(([, value]) => !(value > 0));
  if (wrong !== undefined) return `"${wrong[0]}" must be longer than nothing`;
  const pairs = [
    ['quiesceSoftMs', 'quiesceHardMs'],
    ['restoreSoftMs', 'restoreHardMs'],
    ['cleanupSoftMs', 'cleanupHardMs'],
  ] as const;
  const turned = pairs.find(([soft, hard]) => settings[soft] >= settings[hard]);
  return turned === undefined ? undefined : `"${turned[0]}" must be shorter than "${turned[1]}"`;
}
