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
  { type, reason, message }: EventText,
): Promise<void> {
  const { namespace, name, uid } = about.metadata;
  const id = createHash('sha256').update(`${key} ${reason} ${uid}`).digest('hex').slice(0, 16);
  const now = new Date().toISOString();
  const body = {
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
  try {
    await cluster.create(resources.event, namespace, body);
  } catch (err) {
    if (!(err instanceof ClusterError) || !forgivable.includes(err.reason)) throw err;
  }
}

const forgivable: readonly ClusterError['reason'][] = ['AlreadyExists', 'Forbidden', 'Invalid', 'NotFound', 'Other'];
