/** What can go wrong, in the order of an agent's work. */
export const faultNames = [
  /** The snapshot can't be saved. */
  'saveFails',
  /** The upload fails before its manifest is there. */
  'pushFails',
  /** The same work takes that much longer: the guest is running, the manifest is not there, no VM is made. */
  'saveStalls',
  'pushStalls',
  'restoreStalls',
  /** Time between the manifest and the removal of the VM. */
  'removalDelay',
  /** The VM can't be removed: its tag is taken back, or (second) that fails as well. */
  'removalFails',
  'rollbackFails',
  /** Id and address can't be taken off the Pod. */
  'clearIdFails',
  /** The lifecycle is written late, after the status that follows it, or not before the next flush. */
  'lifecycleDelay',
  'lifecycleAfterStatus',
  'lifecycleLost',
  /** The agent is killed when it comes to a step; with a delay it starts again by itself. */
  'killAt',
  /** What the registry sends is missing, refused or spoilt. */
  'downloadMissing',
  'downloadRefused',
  'downloadSpoilt',
  /** No VM comes of a snapshot or an image. */
  'createFails',
  /** The id can't be written onto the Pod. */
  'idWriteFails',
  /** The container is never said to run. */
  'neverRunning',
  /** A container that ran before is said to run for this long, before the snapshot is downloaded. */
  'staleRunning',
  'networkNeverSettles',
  /** A VM whose Pod is deleted can't be removed. */
  'destroyFails',
  'deletionHangs',
  /** The VM dies this long after it was started. */
  'vmDies',
] as const;
export type FaultName = (typeof faultNames)[number];
