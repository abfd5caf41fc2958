import { z } from 'zod';
import { batchBodies } from './batch-schemas.ts';
import { recordSchema } from './record-schema.ts';
import { conflict, execution, failure, step } from './schema-parts.ts';
import { setBodies } from './set-schemas.ts';

/** Shapes of what `-o json` prints, by kind. Inside one major version fields are only added, so further ones are allowed. */
const time = z.iso.datetime();
const text = z.string();
const count = z.number();

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

const bodies = {
  ...setBodies,
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
