import { OperationError } from '../failures.ts';
import { toVSphereOperationError } from '../vsphere/operation-error.ts';

/** What keeps a source from being read, with its name; undefined: nothing that a source fails with. */
export function sourceTrouble(name: string, err: unknown): OperationError | undefined {
  const known = err instanceof OperationError ? err : toVSphereOperationError(err);
  if (known === undefined) return undefined;
  const { type, message, details, retryable } = known;
  return new OperationError(type, `source ${name} can't be read: ${message}`, { ...details, retryable, cause: err });
}
