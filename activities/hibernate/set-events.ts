import type { SetEvent } from '../../workflows/domain/hibernate/step.ts';
import { recordEvent, recordLasting } from '../kubernetes/events.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import type { HibernateDeps } from './deps.ts';

const texts: Readonly<Record<SetEvent, { readonly type: 'Normal' | 'Warning'; readonly says: string }>> = {
  MigrationStarted: { type: 'Normal', says: 'the main VM is being moved' },
  SnapshotReady: { type: 'Normal', says: 'the VM is stored in the registry and gone from its node' },
  OldPodRemoved: { type: 'Normal', says: 'the Pod on the old node is gone' },
  RestoreStarted: { type: 'Normal', says: 'the VM is being restored from its snapshot' },
  Migrated: { type: 'Normal', says: 'the main VM runs where it is wanted' },
  MigrationAborted: { type: 'Normal', says: 'the main VM runs where it came from' },
  Retargeted: { type: 'Normal', says: 'another node is wanted than before' },
  StaleSnapshotDropped: {
    type: 'Warning',
    says: 'a snapshot older than the running VM was left over and has been dropped',
  },
  SnapshotDiscarded: { type: 'Warning', says: 'the image was changed: the snapshot of the old one has been dropped' },
  FreshBootAcknowledged: {
    type: 'Warning',
    says: 'the state of the VM was given up by a person: a fresh one boots from the image',
  },
  RecoveredFromFailure: { type: 'Normal', says: 'the main VM is well again' },
  QuiesceTimeout: { type: 'Warning', says: 'the VM could not be stored in time; it goes on running' },
};

/** Tells what was done, once for each cause: repeats find the event there. */
export async function tell(deps: HibernateDeps, set: KubeObject, event: SetEvent, detail = ''): Promise<void> {
  const { type, says } = texts[event];
  const { uid, generation = 0 } = set.metadata;
  const message = detail === '' ? says : `${says}: ${detail}`;
  await recordEvent(deps.cluster, set, 'CocoonSet', `${uid}/${generation}`, { type, reason: event, message });
}

/** Warns of what a set waits for, now and then as long as it lasts. */
export async function warn(deps: HibernateDeps, set: KubeObject, reason: string, message: string): Promise<void> {
  const { uid, generation = 0 } = set.metadata;
  const text = { type: 'Warning', reason, message } as const;
  const { eventRepeatMs } = deps.settings;
  await recordLasting(deps.cluster, set, 'CocoonSet', `${uid}/${generation}/lasting`, text, eventRepeatMs);
}
