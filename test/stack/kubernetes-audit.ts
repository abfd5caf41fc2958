/** A write that the API server has answered. */
export interface AuditEvent {
  /** ISO 8601 with microseconds, when the request came in. */
  readonly at: string;
  readonly user: string;
  readonly userAgent: string;
  readonly verb: 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';
  /** Plural, e.g. `virtualmachineoperations`. */
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the object that was written; missing where the request failed. */
  readonly uid?: string;
  /** HTTP status of the answer. */
  readonly code: number;
  /** Body of the request: the object, the patch or the options of the deletion. */
  readonly request?: unknown;
  readonly dryRun: boolean;
}

const ours = ['virtualization.deckhouse.io', 'internal.virtualization.deckhouse.io', 'cocoonset.cocoonstack.io'];
const writes = ['create', 'update', 'patch', 'delete', 'deletecollection'];

/** Every write to our kinds, and to Pods, nodes and events, with bodies; nothing else. */
export const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    {
      level: 'RequestResponse',
      verbs: writes,
      resources: [
        ...ours.map((group) => ({ group })),
        { group: '', resources: ['events', 'pods', 'pods/*', 'nodes', 'nodes/*'] },
      ],
    },
    { level: 'None' },
  ],
};

interface LogLine {
  readonly requestReceivedTimestamp: string;
  readonly requestURI: string;
  readonly verb: AuditEvent['verb'];
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
  };
  readonly responseStatus?: { readonly code?: number; readonly details?: { readonly uid?: string } };
  readonly requestObject?: unknown;
  readonly responseObject?: { readonly metadata?: { readonly name?: string; readonly uid?: string } };
}

/** The events of an audit log; a last line that is still being written is left out. */
export function parseAuditLog(text: string): readonly AuditEvent[] {
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  return complete
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => toEvent(JSON.parse(line) as LogLine));
}

function toEvent(line: LogLine): AuditEvent {
  const { objectRef, responseObject, responseStatus } = line;
  const uid = responseObject?.metadata?.uid ?? responseStatus?.details?.uid ?? objectRef?.uid;
  return {
    at: line.requestReceivedTimestamp,
    user: line.user.username,
    userAgent: line.userAgent ?? '',
    verb: line.verb,
    resource: objectRef?.resource ?? '',
    ...(objectRef?.subresource === undefined ? {} : { subresource: objectRef.subresource }),
    namespace: objectRef?.namespace ?? '',
    name: objectRef?.name ?? responseObject?.metadata?.name ?? '',
    ...(uid === undefined ? {} : { uid }),
    code: responseStatus?.code ?? 0,
    ...(line.requestObject === undefined ? {} : { request: line.requestObject }),
    dryRun: /[?&]dryRun=All\b/.test(line.requestURI),
  };
}
