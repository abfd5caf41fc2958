import { podOf } from './next.ts';
import type { MigrationRecord, Stage } from './record.ts';
import type { Situation } from './situation.ts';

export function newRecord({ set, pod, context }: Situation): MigrationRecord {
  return {
    id: `${set.uid}/${set.generation}`,
    generation: set.generation,
    from: pod?.nodeName ?? '',
    to: set.nodeName,
    sourcePodUID: pod?.uid ?? '',
    sourceVMID: pod?.vmId ?? '',
    startedAt: context.now,
    stage: 'preparing',
    stageAt: context.now,
  };
}

type Source = Pick<MigrationRecord, 'sourcePodUID' | 'sourceVMID'>;

/** The record at this stage of this VM. Its beginning is kept when nothing about that is new. */
export function staged(s: Situation, stage: Stage, record: MigrationRecord, source: Source = record): MigrationRecord {
  const { sourcePodUID, sourceVMID } = source;
  const isSame = record.stage === stage && record.sourcePodUID === sourcePodUID && record.sourceVMID === sourceVMID;
  const stageAt = isSame ? record.stageAt : s.context.now;
  return { ...record, to: s.set.nodeName, stage, stageAt, sourcePodUID, sourceVMID };
}

/** The record before the hibernate flag is set or removed: which VM it was, and at which generation. */
export function touched(s: Situation, stage: Stage): MigrationRecord {
  const record = staged(s, stage, unburdened(s.record ?? newRecord(s)), sourceOf(s));
  return { ...record, generation: s.set.generation };
}

/** Without what an earlier snapshot or an earlier failure left in it. */
export function unburdened(record: MigrationRecord): MigrationRecord {
  const { id, generation, from, to, sourcePodUID, sourceVMID, startedAt, stage, stageAt } = record;
  return { id, generation, from, to, sourcePodUID, sourceVMID, startedAt, stage, stageAt };
}

/** The Pod and its last id: the agent removes the id with the VM. */
export function sourceOf(s: Situation): Source {
  const pod = podOf(s);
  const known = s.record?.sourcePodUID === pod.uid ? s.record.sourceVMID : '';
  return { sourcePodUID: pod.uid, sourceVMID: pod.vmId === '' ? known : pod.vmId };
}
