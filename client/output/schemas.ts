import { z } from 'zod';
import { batchBodies } from './batch-schemas.ts';
import { recordSchema } from './record-schema.ts';
import { conflict, execution, step } from './schema-parts.ts';

/** Shapes of what `-o json` prints, by kind. Inside one major version fields are only added, so further ones are allowed. */
const time = z.iso.datetime();
const text = z.string();
const count = z.number();

const failure = z.looseObject({ type: text, message: text, details: z.looseObject({ code: text }).optional() });
const versionRef = z.looseObject({ moRef: text, version: text.optional() });
const plan = z.looseObject({ row: text, actions: z.array(text), problem: text.optional() });
const outcome = z.enum(['noop', 'swapped', 'created', 'promoted', 'restored-then-swapped', 'undone', 'planned']);
const swapResult = z.looseObject({
  outcome,
  prod: versionRef.optional(),
  previous: versionRef.optional(),
  gapMs: count.optional(),
  uploadedBytes: count,
  uploadAttempts: count,
  rollbackDestroyed: z.boolean(),
  warnings: z.array(text),
  timings: z.record(text, count),
  plan: plan.optional(),
});
const check = z.looseObject({ name: text, ok: z.boolean(), detail: text, remedy: text.optional() });

const templateSwap = {
  id: text,
  runId: text,
  name: text,
  vcenter: text,
  folder: text,
  by: text.optional(),
  link: z.url(),
  phase: text,
  execution,
  answeredBy: z.enum(['worker', 'server']),
  startedAt: time,
  closedAt: time.optional(),
  reason: text.optional(),
  message: text.optional(),
  since: time.optional(),
  deadline: time.optional(),
  waitingFor: z.enum(['person', 'window', 'slot', 'capacity', 'far-side', 'superseded']).optional(),
  progress: z.number().min(0).max(1).optional(),
  conflict: conflict.optional(),
  steps: z.array(step),
  next: z.array(text),
  row: text.optional(),
  target: z.looseObject({ version: text, sha256: text }).optional(),
  names: z.looseObject({ prod: text, temp: text, rollback: text }).optional(),
  prodAbsentSince: time.optional(),
  gapMs: count.optional(),
  keptUntil: time.optional(),
  previous: versionRef.optional(),
  warnings: z.array(text).optional(),
  result: swapResult.optional(),
  failure: failure.optional(),
  transfer: z
    .looseObject({
      activity: text,
      phase: text.optional(),
      waitingFor: text.optional(),
      attempt: count,
      maxAttempts: count.optional(),
      sentBytes: count.optional(),
      totalBytes: count.optional(),
      rate: count.optional(),
      secondsLeft: count.optional(),
      stalledMs: count.optional(),
      nextAttemptAt: time.optional(),
      lastFailure: text.optional(),
      reportedAt: time.optional(),
    })
    .optional(),
};

const templateRow = z.looseObject({
  name: text,
  vcenter: text,
  folder: text,
  version: text.optional(),
  previous: text.optional(),
  target: text.optional(),
  phase: text.optional(),
  waitingFor: text.optional(),
  conflict: text.optional(),
  updatedAt: time.optional(),
  id: text.optional(),
  runId: text.optional(),
  link: z.url().optional(),
});

const operationName = z.looseObject({ name: text, uid: text });
const operationType = z.enum(['Start', 'Stop', 'Restart', 'Migrate', 'Evict', 'Restore', 'Clone']);
const vmFacts = {
  namespace: text,
  name: text,
  uid: text,
  phase: text,
  runPolicy: text,
  nodeName: text.optional(),
  ipAddress: text.optional(),
  restartPending: z.boolean().optional(),
  createdAt: time,
};
const operationRow = {
  id: text,
  namespace: text,
  name: text,
  uid: text,
  vm: text,
  type: operationType,
  force: z.boolean().optional(),
  phase: text,
  reason: text.optional(),
  message: text.optional(),
  progress: text.optional(),
  seq: count.optional(),
  supersededBy: operationName.optional(),
  supersedes: z.array(operationName).optional(),
  by: text.optional(),
  why: text.optional(),
  createdAt: time,
  endedAt: time.optional(),
  link: z.url(),
};
const operation = {
  ...operationRow,
  now: text.optional(),
  since: time.optional(),
  deadline: time.optional(),
  waitingFor: text.optional(),
  steps: z.array(step),
  supersedableBy: z.array(text),
  next: z.array(text),
};
const requestResult = z.enum([
  'created',
  'in-progress',
  'already-so',
  'would-create',
  'refused',
  'completed',
  'failed',
  'superseded',
  'cancelled',
  'reached',
  'timeout',
  'interrupted',
]);

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

const bodies = {
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
  VirtualMachineList: { items: z.array(z.looseObject(vmFacts)) },
  VirtualMachine: {
    ...vmFacts,
    id: text,
    active: z.array(z.looseObject(operation)),
    operations: z.array(z.looseObject(operationRow)),
    next: z.array(text),
    link: z.url(),
  },
  OperationList: { items: z.array(z.looseObject(operationRow)) },
  Operation: operation,
  OperationRequestList: {
    items: z.array(
      z.looseObject({
        id: text,
        namespace: text,
        vm: text,
        type: operationType,
        force: z.boolean().optional(),
        result: requestResult,
        operation: operationName.optional(),
        supersedes: z.array(operationName),
        vmPhase: text.optional(),
        reason: text.optional(),
        message: text.optional(),
        supersededBy: operationName.optional(),
        link: z.url().optional(),
      }),
    ),
  },
  OperationMessageSent: { id: text, namespace: text, name: text, vm: text, message: text, answer: text, link: z.url() },
  TemplateList: { items: z.array(templateRow) },
  TemplateSwap: templateSwap,
  TemplateUpdate: {
    id: text,
    runId: text,
    name: text,
    vcenter: text,
    how: z.enum(['started', 'joined', 'retargeted']),
    phase: text,
    version: text,
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    link: z.url(),
  },
  TemplateFleet: {
    id: text,
    runId: text,
    phase: text,
    execution,
    reason: text.optional(),
    message: text.optional(),
    since: time.optional(),
    link: z.url(),
    running: z.array(text).optional(),
    next: z.array(text).optional(),
    items: z.array(
      z.looseObject({
        id: text,
        template: text,
        outcome: z.union([outcome, z.enum(['failed', 'cancelled', 'skipped'])]),
        result: swapResult.optional(),
        error: failure.optional(),
      }),
    ),
    steps: z.array(step),
  },
  MessageSent: { id: text, runId: text, name: text, message: text, answer: text, link: z.url() },
  Plan: { id: text, name: text, verb: text, effect: text },
  EndpointList: { items: z.array(z.looseObject({ name: text, kind: text, url: z.url(), user: text, tls: text })) },
  EndpointCheckList: {
    items: z.array(check.extend({ endpoint: text, failure: z.enum(['unreachable', 'forbidden', 'wrong']).optional() })),
  },
  DoctorReport: { items: z.array(check) },
  SetupResult: {
    items: z.array(
      z.looseObject({ what: text, name: text, was: z.enum(['present', 'missing', 'different']), now: text }),
    ),
  },
  Configuration: {
    items: z.array(
      z.looseObject({ setting: text, value: text, origin: z.enum(['flag', 'env', 'file', 'default']), from: text }),
    ),
  },
  ConfigurationPath: { path: text, exists: z.boolean() },
  ConfigurationCheck: { address: text, namespace: text, server: text },
  Version: {
    version: text,
    sdk: text,
    node: text,
    server: text.optional(),
    workers: z.array(text),
    note: text.optional(),
  },
  Link: { id: text, link: z.url() },
  ...batchBodies,
} as const;

export type OutputKind = keyof typeof bodies;
export const outputKinds = Object.keys(bodies) as OutputKind[];

/** The schema of one kind, with its envelope. */
export function outputSchema(kind: OutputKind): z.ZodType {
  return z.looseObject({ apiVersion: z.literal('vmflow.dev/v1'), kind: z.literal(kind), ...bodies[kind] });
}

/** What goes to standard error with `-o json`. */
export const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.int(),
    reason: z.string().regex(/^[A-Za-z][A-Za-z0-9_]*$/),
    message: text,
    hint: text.optional(),
    link: z.url().optional(),
  }),
});

/** Has a schema of its own: what a command prints, and its errors. */
export type PrintedKind = OutputKind | 'HistoryRecord';
export type SchemaKind = PrintedKind | 'Error';
export const schemaKinds: readonly SchemaKind[] = [...outputKinds, 'HistoryRecord', 'Error'];

/** The published form. */
export function jsonSchema(kind: SchemaKind): object {
  switch (kind) {
    case 'Error':
      return z.toJSONSchema(errorSchema);
    case 'HistoryRecord':
      return z.toJSONSchema(recordSchema);
    default:
      return z.toJSONSchema(outputSchema(kind));
  }
}
