import { vmopKeys } from '../../workflows/contracts/vmop.ts';
import { resources } from '../../activities/kubernetes/resources.ts';
import type { AuditEvent } from '../stack/kubernetes-audit.ts';
import type { OperationUnderTest } from './vm-rig.ts';

/** What is wrong with the signals of an operation: more than one, or one after its end. */
export function signalsOf({ uid }: OperationUnderTest, writes: readonly AuditEvent[]): string[] {
  const requests = writes.filter(
    ({ resource, request }) => resource === resources.machine.plural && carries(request, vmopKeys.receipt, uid),
  );
  const migrations = writes.filter(
    ({ verb, resource, request }) =>
      verb === 'create' && resource === resources.migration.plural && JSON.stringify(request).includes(uid),
  );
  const marked = writes.find(
    ({ resource, subresource, request, uid: of }) =>
      of === uid &&
      resource === resources.vmop.plural &&
      subresource === 'status' &&
      /"Superseded"/.test(JSON.stringify(request)),
  );
  const late = [...requests, ...migrations].filter(({ at }) => marked !== undefined && at > marked.at);
  return [
    ...(requests.length > 1 ? [`${requests.length} requests`] : []),
    ...(migrations.length > 1 ? [`${migrations.length} migrations`] : []),
    ...(late.length > 0 ? ['a signal after it was superseded'] : []),
  ];
}

/** A patch that sets the receipt anew together with a request: `add /metadata/annotations` with both. */
function carries(request: unknown, key: string, value: string): boolean {
  if (!Array.isArray(request)) return false;
  return request.some((operation: { path?: string; value?: unknown }) => {
    if (operation.path !== '/metadata/annotations' || typeof operation.value !== 'object') return false;
    const annotations = operation.value as Record<string, string>;
    const asks = annotations[vmopKeys.startRequested] ?? annotations[vmopKeys.restartRequested];
    return annotations[key] === value && asks !== undefined;
  });
}
