import { OperationError } from '../failures.ts';
import { ClusterError } from '../kubernetes/port.ts';

/** A selector that the API server can't read is a mistake of the one who asks; undefined for other errors. */
export function badSelector(err: unknown, selector: string | undefined): OperationError | undefined {
  if (selector === undefined || !(err instanceof ClusterError) || err.status !== 400) return undefined;
  return new OperationError('InvalidRequest', `"${selector}" is no label selector: ${err.message}`, {
    code: 'SELECTOR_INVALID',
    next: 'write it as for kubectl: app=web, app!=web, "tier in (a,b)"',
    cause: err,
  });
}
