import { z } from 'zod';
import { conflict, execution, step } from './schema-parts.ts';

/** Shapes of what the commands for batches print. */
const time = z.iso.datetime();
const text = z.string();
const count = z.number();
const flag = z.boolean();
const link = z.url();
const waitingFor = z.enum(['person', 'window', 'slot', 'capacity', 'far-side', 'superseded']);
const connectivity = z.enum([
  'OK',
  'Cannot connect',
  'TLS error',
  'Confirm TLS fingerprint',
  'Authentication error',
  'Unknown',
]);
const member = z.looseObject({
  uuid: text,
  name: text,
  vm: text,
  source: text,
  phase: text,
  ordered: flag.optional(),
  unread: flag.optional(),
  later: flag.optional(),
  window: text.optional(),
});
const times = z.looseObject({ earliest: time.optional(), latest: time.optional() });

const batch = {
  id: text,
  runId: text,
  name: text,
  phase: text,
  answeredBy: z.enum(['worker', 'server']),
  counts: z.partialRecord(
    z.enum([
      'none',
      'waiting',
      'blocked',
      'queued',
      'running',
      'ready',
      'committed',
      'conflict',
      'finished',
      'error',
      'canceled',
    ]),
    count,
  ),
  members: count.optional(),
  shards: count.optional(),
  reason: text.optional(),
  message: text.optional(),
  since: time.optional(),
  startDate: time.optional(),
  waitingFor: waitingFor.optional(),
  progress: z.number().min(0).max(1).optional(),
  windows: z
    .array(
      z.looseObject({
        name: text,
        start: time.optional(),
        end: time.optional(),
        lockout: time.optional(),
        capacity: count,
        held: count,
        state: z.enum(['ahead', 'open', 'locked', 'over']),
      }),
    )
    .optional(),
  constraints: z.array(z.looseObject({ name: text, max: count, held: count })).optional(),
  waitsForOthers: z.array(z.looseObject({ name: text, why: text })).optional(),
  etag: text.optional(),
  ready: count.optional(),
  eta: times.optional(),
  spec: z.looseObject({ name: text, include_expression: text }).optional(),
  items: z.array(member).optional(),
  steps: z.array(step).optional(),
  next: z.array(text),
  link,
};

const entryRow = {
  id: text,
  runId: text,
  vm: text,
  uuid: text,
  batch: text,
  phase: text,
  execution,
  progress: z.number().min(0).max(1).optional(),
  atRisk: flag.optional(),
  deadline: time.optional(),
  source: text.optional(),
  target: text.optional(),
  window: text.optional(),
  message: text.optional(),
  since: time.optional(),
  link,
};

const queueRow = z.looseObject({ ...entryRow, waitingFor: text.optional(), conflict: text.optional() });

const planned = z.looseObject({
  uuid: text,
  name: text,
  source: text,
  location: text,
  state: z.enum(['planned', 'no-place', 'does-not-fit', 'blocked', 'taken']),
  target: text.optional(),
  project: text.optional(),
  constraint: text.optional(),
  neededMs: count,
  window: text.optional(),
  why: text.optional(),
});

const placement = z.looseObject({
  target_name: text,
  target_project: text,
  storage_pools: z.record(text, text),
  networks: z.record(text, z.looseObject({ network: text, nictype: text, vlan_id: text })),
  running: flag,
});

const sync = {
  at: time,
  instances: count,
  networks: count,
  updated: count,
  missing: count,
  warnings: z.array(z.looseObject({ type: text, messages: z.array(text), count })),
};

const endpoint = {
  name: text,
  type: text,
  url: link,
  tls: text,
  fingerprint: text.optional(),
  connectivity,
  detail: text.optional(),
  importLimit: count,
};

export const batchBodies = {
  BatchList: { items: z.array(z.looseObject(batch)) },
  Batch: {
    ...batch,
    /** Of the lines of `batch watch -o jsonl`: what moves. */
    rows: z.array(queueRow).optional(),
  },
  BatchPlan: {
    name: text,
    members: count,
    counts: z.looseObject({ planned: count, 'no-place': count, 'does-not-fit': count, blocked: count, taken: count }),
    windows: z.array(
      z.looseObject({
        name: text,
        start: time.optional(),
        end: time.optional(),
        lockout: time.optional(),
        local: text,
        utc: text,
        capacity: count,
        vms: count,
        longestMs: count,
        notes: z.array(text),
      }),
    ),
    planned: z.array(planned),
    blocked: z.array(planned),
    truncated: flag,
    warnings: z.array(text),
  },
  BatchApplied: {
    id: text,
    runId: text,
    name: text,
    result: z.enum(['created', 'changed', 'unchanged']),
    members: count,
    etag: text,
    link,
  },
  BatchStarted: {
    id: text,
    runId: text,
    name: text,
    queued: count,
    skipped: z.array(z.looseObject({ uuid: text, name: text, why: text })),
    skippedCount: count,
    link,
  },
  QueueList: {
    items: z.array(queueRow),
  },
  QueueEntry: {
    ...entryRow,
    answeredBy: z.enum(['worker', 'server']),
    waitingFor: waitingFor.optional(),
    conflict: conflict.optional(),
    stage: text.optional(),
    substate: text.optional(),
    reason: text.optional(),
    holdsPlace: flag.optional(),
    configured: flag.optional(),
    lastSync: time.optional(),
    committed: flag.optional(),
    resolveCount: count.optional(),
    copyPass: count.optional(),
    copy: z
      .looseObject({
        pass: count,
        attempt: count,
        phase: text.optional(),
        bytesDone: count.optional(),
        bytesTotal: count.optional(),
        bytesPerSecond: count.optional(),
        eta: times.optional(),
        lastFailure: text.optional(),
        reportedAt: time.optional(),
      })
      .optional(),
    placement: placement.optional(),
    timeline: z.array(z.looseObject({ at: time, status: text, message: text })).optional(),
    steps: z.array(step),
    next: z.array(text),
  },
  QueueExplanation: {
    id: text,
    vm: text,
    uuid: text,
    batch: text,
    phase: text,
    waiting: text,
    placement: placement.optional(),
    reasons: z.array(z.looseObject({ field: text, value: text, why: text })),
    constraint: text.optional(),
    obstacles: z.array(text),
    next: z.array(text),
    link,
  },
  SourceList: {
    items: z.array(
      z.looseObject({
        ...endpoint,
        user: text,
        syncing: flag,
        lastSync: z.looseObject(sync).optional(),
        lastError: text.optional(),
      }),
    ),
  },
  SourceSync: { id: text, name: text, ...sync, link },
  SourceVmList: {
    items: z.array(
      z.looseObject({
        uuid: text,
        source: text,
        source_specific_id: text,
        location: text,
        name: text,
        os_type: text,
        distribution: text,
        distribution_version: text,
        cpus: count,
        memory: count,
        disks: count,
        size: count,
        background_import: flag,
        running: flag,
        last_update_from_source: time,
        restriction: text.optional(),
      }),
    ),
  },
  TargetList: {
    items: z.array(z.looseObject({ ...endpoint, auth: text, version: text.optional(), createLimit: count })),
  },
  OrphanList: {
    items: z.array(
      z.looseObject({
        target: text,
        project: text,
        name: text,
        status: text,
        uuid: text,
        batch: text,
        attempt: count,
        source: text,
        ran: flag,
        sourcePower: z.enum(['on', 'off', 'suspended']).optional(),
        why: text,
      }),
    ),
    unread: z.array(text),
  },
  OrphanDone: {
    id: text,
    runId: text,
    name: text,
    action: z.enum(['adopt', 'delete']),
    outcome: z.enum(['adopted', 'deleted', 'gone']),
    message: text,
    link,
  },
} as const;
