import { z } from 'zod';
import { conflict, execution, failure, step } from './schema-parts.ts';

/** Shapes of what the commands for sets, their hibernations and nodes print. */
const time = z.iso.datetime();
const text = z.string();
const count = z.number();

const condition = z.looseObject({ type: text, status: text, reason: text, message: text, lastTransitionTime: time });
const setRow = {
  namespace: text,
  name: text,
  uid: text,
  phase: text.optional(),
  generation: count,
  observedGeneration: count,
  node: text.optional(),
  target: text.optional(),
  suspend: z.boolean().optional(),
  readyAgents: count,
  desiredAgents: count,
  migrating: condition.optional(),
  createdAt: time,
  deleting: z.boolean().optional(),
};
const migrationResult = z.looseObject({
  outcome: z.enum(['migrated', 'aborted', 'superseded', 'setDeleted', 'parked']),
  from: text.optional(),
  to: text.optional(),
  vmIdBefore: text.optional(),
  vmIdAfter: text.optional(),
  snapshotDigest: text.optional(),
  downtimeMs: count.optional(),
});
const migration = {
  id: text,
  runId: text,
  namespace: text,
  set: text,
  step: text,
  execution,
  answeredBy: z.enum(['worker', 'server']),
  startedAt: time,
  closedAt: time.optional(),
  reason: text.optional(),
  message: text.optional(),
  since: time.optional(),
  deadline: time.optional(),
  waitingFor: text.optional(),
  progress: z.number().min(0).max(1).optional(),
  conflict: conflict.optional(),
  steps: z.array(step),
  next: z.array(text),
  row: text.optional(),
  source: text.optional(),
  target: text.optional(),
  podUID: text.optional(),
  vmID: text.optional(),
  snapshot: z.looseObject({ state: z.enum(['present', 'absent', 'unknown']), digest: text.optional() }).optional(),
  slot: z.enum(['none', 'asked', 'granted']).optional(),
  queued: count.optional(),
  turn: count.optional(),
  result: migrationResult.optional(),
  failure: failure.optional(),
  link: z.url(),
};
const nodeFacts = { name: text, ready: z.boolean(), cordoned: z.boolean(), drainedBy: text.optional() };
const stays = z.array(z.looseObject({ set: text, reason: text }));

export const setBodies = {
  CocoonSetList: { items: z.array(z.looseObject(setRow)) },
  CocoonSet: {
    ...setRow,
    id: text,
    image: text,
    agents: z.array(
      z.looseObject({
        slot: count,
        role: text,
        podName: text.optional(),
        vmName: text.optional(),
        vmId: text.optional(),
        ip: text.optional(),
        phase: text.optional(),
      }),
    ),
    conditions: z.array(condition),
    record: z
      .looseObject({
        id: text,
        generation: count,
        from: text,
        to: text,
        sourcePodUID: text,
        sourceVMID: text,
        snapshotDigest: text.optional(),
        startedAt: time,
        stage: text,
        stageAt: time,
        barredAt: count.optional(),
        redo: z.looseObject({ podUID: text, until: time.optional() }).optional(),
      })
      .optional(),
    hibernation: z
      .looseObject({
        name: text,
        desire: z.enum(['Hibernate', 'Wake']),
        phase: text.optional(),
        generation: count,
        observedGeneration: count,
      })
      .optional(),
    migration: z.looseObject(migration).optional(),
    next: z.array(text),
    link: z.url(),
  },
  SetMigrationList: {
    items: z.array(
      z.looseObject({
        id: text,
        runId: text,
        namespace: text,
        set: text,
        step: text,
        execution,
        source: text.optional(),
        target: text.optional(),
        waitingFor: text.optional(),
        conflict: text.optional(),
        atRisk: z.boolean().optional(),
        startedAt: time,
        closedAt: time.optional(),
        link: z.url(),
      }),
    ),
  },
  SetMigration: migration,
  MigrationRequestList: {
    items: z.array(
      z.looseObject({
        id: text,
        namespace: text,
        set: text,
        from: text.optional(),
        to: text.optional(),
        result: z.enum([
          'requested',
          'in-progress',
          'migrated',
          'already-there',
          'changed',
          'aborted',
          'setDeleted',
          'parked',
          'would-migrate',
          'refused',
          'conflict',
          'reached',
          'timeout',
          'interrupted',
        ]),
        handover: z
          .looseObject({
            vmIdBefore: text.optional(),
            snapshotDigest: text.optional(),
            vmIdAfter: text.optional(),
            downtimeMs: count.optional(),
          })
          .optional(),
        reason: text.optional(),
        message: text.optional(),
        options: z.array(z.looseObject({ decision: text, effect: text })).optional(),
        link: z.url().optional(),
      }),
    ),
  },
  HibernationRequestList: {
    items: z.array(
      z.looseObject({
        id: text,
        namespace: text,
        pod: text,
        desire: z.enum(['Hibernate', 'Wake']),
        result: z.enum([
          'created',
          'changed',
          'in-progress',
          'already-so',
          'would-create',
          'would-change',
          'Hibernated',
          'Active',
          'Failed',
          'superseded',
          'deleted',
          'refused',
          'reached',
          'timeout',
          'interrupted',
        ]),
        phase: text.optional(),
        reason: text.optional(),
        message: text.optional(),
        link: z.url().optional(),
      }),
    ),
  },
  NodeList: { items: z.array(z.looseObject({ ...nodeFacts, mains: count })) },
  Node: {
    ...nodeFacts,
    sets: z.array(text),
    drain: z
      .looseObject({
        id: text,
        runId: text,
        execution,
        startedAt: time,
        closedAt: time.optional(),
        status: text.optional(),
        reason: text.optional(),
        message: text.optional(),
        since: time.optional(),
        deadline: time.optional(),
        waitingFor: text.optional(),
        total: count.optional(),
        moved: count.optional(),
        inFlight: count.optional(),
        blocked: stays.optional(),
        result: z
          .looseObject({ outcome: z.enum(['drained', 'deadline', 'cancelled']), moved: count, blocked: stays })
          .optional(),
        failure: failure.optional(),
        link: z.url(),
      })
      .optional(),
    next: z.array(text),
  },
} as const;
