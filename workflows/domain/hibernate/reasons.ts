import type { HoldReason, WaitReason } from './step.ts';

interface ReasonFacts {
  readonly says: string;
  /** Name of the warning on the set; absent: none. */
  readonly event?: string;
  readonly waitingFor?: 'person' | 'slot' | 'capacity' | 'far-side';
  /** The set counts as failed meanwhile. */
  readonly fails?: true;
  /** Ways out that a person has, in the order in which people would try them. */
  readonly ways?: readonly Way[];
}

export type Way = 'retry' | 'abort' | 'acknowledge-loss';

/** What each way out does, for those who have to choose. */
export const wayEffects: Readonly<Record<Way, string>> = {
  retry: 'looks again and, where that is safe, tries again',
  abort: 'wants the VM back on the node where it came from',
  'acknowledge-loss': 'gives up the state of the VM: a fresh one boots from the image under its name',
};

/** Why a migration waits. One line per reason: what people read, what is warned of, who can end it. */
export const reasons: Readonly<Record<WaitReason | HoldReason, ReasonFacts>> = {
  RegistryUnavailable: { says: 'the registry does not say whether there is a snapshot', waitingFor: 'far-side' },
  Snapshotting: { says: 'the node agent stores memory and disks of the VM', waitingFor: 'far-side' },
  SnapshotSlow: { says: 'storing the VM takes long', event: 'SnapshotSlow', waitingFor: 'far-side' },
  SnapshotFailed: {
    says: 'the node agent could not store the VM and tries again; the VM runs meanwhile',
    event: 'SnapshotFailed',
    waitingFor: 'far-side',
  },
  SourceNodeLost: {
    says: 'the node of the VM is lost, and with it the only state of the VM; nothing is removed',
    event: 'MigrationBlocked',
    waitingFor: 'far-side',
  },
  RemovingOldPod: { says: 'the old Pod is being deleted', waitingFor: 'far-side' },
  OldPodStuck: { says: 'the old Pod does not go', event: 'OldPodStuck', waitingFor: 'far-side' },
  Fenced: { says: 'the node agent gets time to notice that the Pod it was restoring is gone', waitingFor: 'far-side' },
  Scheduling: { says: 'the new Pod waits for the scheduler', waitingFor: 'far-side' },
  MigrateNoCapacity: { says: 'no node takes the new Pod', event: 'MigrateNoCapacity', waitingFor: 'capacity' },
  Restoring: { says: 'the node agent restores the VM', waitingFor: 'far-side' },
  RestoreSlow: { says: 'restoring the VM takes long', event: 'RestoreSlow', waitingFor: 'far-side' },
  MainAgentFailed: {
    says: 'the node agent reports a failure',
    event: 'MainAgentFailed',
    waitingFor: 'far-side',
    fails: true,
    ways: ['retry', 'abort'],
  },
  AgentBusy: { says: 'the node agent has not confirmed yet that it is done with the VM', waitingFor: 'far-side' },
  WaitingForSlot: { says: 'other migrations go first', waitingFor: 'slot' },
  PodNameConflict: {
    says: 'a Pod of that name belongs to somebody else; it is left alone',
    event: 'PodNameConflict',
    waitingFor: 'far-side',
  },
  HibernationOwnsPod: {
    says: 'a CocoonHibernation decides about the VM',
    event: 'MigrationBlocked',
    waitingFor: 'far-side',
  },
  SnapshotMissing: {
    says: 'the VM was stored and its snapshot is gone; nothing is started in its place',
    event: 'SnapshotMissing',
    waitingFor: 'person',
    fails: true,
    ways: ['retry', 'acknowledge-loss'],
  },
  SnapshotInvalid: {
    says: 'what stands under the tag is no snapshot; it is neither restored nor deleted',
    event: 'SnapshotInvalid',
    waitingFor: 'person',
    ways: ['retry', 'abort'],
  },
  SnapshotForeign: {
    says: 'the snapshot under the tag may not be of this set; it is neither restored nor deleted',
    event: 'SnapshotForeign',
    waitingFor: 'person',
    ways: ['retry', 'abort'],
  },
  QuiesceTimeout: {
    says: 'the VM could not be stored in time; it goes on running',
    event: 'QuiesceTimeout',
    waitingFor: 'person',
    fails: true,
    ways: ['retry', 'abort'],
  },
  RestoreTimeout: {
    says: 'the VM could not be restored in time; its snapshot is kept',
    event: 'RestoreTimeout',
    waitingFor: 'person',
    fails: true,
    ways: ['retry', 'abort'],
  },
  TargetInvalid: blocked('the target is no name of a node'),
  TargetNotFound: blocked('the target does not exist'),
  TargetHostnameMismatch: blocked('the hostname label of the target is not its name'),
  TargetNotReady: blocked('the target is not ready'),
  TargetUnschedulable: blocked('the target is cordoned'),
  TargetPoolMismatch: blocked('the target is in another pool'),
  TargetClassMismatch: blocked('the target has another CPU class'),
  TargetTainted: blocked('the target repels Pods'),
  TargetNoCapacity: { ...blocked('the target has no room'), waitingFor: 'capacity' },
  GuestCannotHibernate: blocked('the guest cannot hibernate'),
  VmNameShared: blocked('another set has a VM of the same name'),
};

function blocked(says: string): ReasonFacts {
  return { says: `${says}; the VM goes on running`, event: 'MigrationBlocked', waitingFor: 'far-side' };
}
