import { createHash } from 'node:crypto';
import { ClusterError, type Cluster, type KubeObject } from './port.ts';
import { resources } from './resources.ts';

export interface EventText {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Longest message that the API takes. */
const longestMessage = 1_024;

/**
 * Records an event on an object, once: its name is made from the key, the reason and the object, so that a repeat finds
 * it. An event is told, not needed: an object that is gone or an API that refuses events doesn't fail the operation.
 */
export async function recordEvent(
  cluster: Cluster,
  about: KubeObject,
  kind: string,
  key: string,
  text: EventText,
): Promise<void> {
  const { namespace } = about.metadata;
  await forgiven(() => cluster.create(resources.event, namespace, eventOf(about, kind, key, text)));
}

/** As `recordEvent`, for what lasts: a repeat is counted, with its newest message, but only so long after the last time. */
export async function recordLasting(
  cluster: Cluster,
  about: KubeObject,
  kind: string,
  key: string,
  text: EventText,
  repeatMs: number,
): Promise<void> {
  const { namespace } = about.metadata;
  const event = eventOf(about, kind, key, text);
  const { name } = event.metadata;
  if (await forgiven(() => cluster.create(resources.event, namespace, event))) return;
  await forgiven(async () => {
    // We may change events, not read them: a patch of nothing answers what is there.
    const told = (await cluster.patch(resources.event, namespace, name, [])) as {
      lastTimestamp?: string;
      count?: number;
    };
    const { lastTimestamp = '', count = 1 } = told;
    if (Date.now() - Date.parse(lastTimestamp) < repeatMs + timestampStepMs) return;
    await cluster.patch(resources.event, namespace, name, [
      { op: 'test', path: '/lastTimestamp', value: lastTimestamp },
      { op: 'add', path: '/lastTimestamp', value: event.lastTimestamp },
      { op: 'add', path: '/count', value: count + 1 },
      { op: 'add', path: '/message', value: event.message },
    ]);
  });
}

/** The API keeps whole seconds of an event's times. */
const timestampStepMs = 1_000;

function eventOf(about: KubeObject, kind: string, key: string, { type, reason, message }: EventText) {
  const { namespace, name, uid } = about.metadata;
  const id = createHash('sha256').update(`${key} ${reason} ${uid}`).digest('hex').slice(0, 16);
  const now = new Date().toISOString();
  return {
    metadata: { name: `${name.slice(0, 230)}.${id}`, namespace },
    involvedObject: { apiVersion: about.apiVersion, kind, namespace, name, uid },
    type,
    reason,
    message: message.slice(0, longestMessage),
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
    source: { component: 'vmflow' },
    reportingComponent: 'vmflow',
  };
}

/** Answers whether it was done. */
async function forgiven(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (err) {
    if (!(err instanceof ClusterError) || !forgivable.includes(err.reason)) throw err;
    return false;
  }
}

const forgivable: readonly ClusterError['reason'][] = [
  'AlreadyExists',
  'Conflict',
  'Forbidden',
  'Invalid',
  'NotFound',
  'Other',
];
