import type { Config } from '../config.ts';
import { OperationError } from '../failures.ts';
import { toVSphereOperationError } from './operation-error.ts';
import type { VSphere, VSphereSession } from './port.ts';

export interface VCenterDeps {
  readonly config: Config;
  readonly vsphere: VSphere;
}

/** Runs `work` on the pooled session of a named vCenter. `what` completes "can't …" in a failure of vCenter itself. */
export async function onVCenter<T>(
  { config, vsphere }: VCenterDeps,
  name: string,
  what: string,
  work: (session: VSphereSession) => Promise<T>,
): Promise<T> {
  const endpoint = await config.vcenter(name);
  try {
    return await vsphere.withSession(endpoint, work);
  } catch (err) {
    throw inContext(err, `${what} on vCenter ${name}`);
  }
}

/** A failure of vCenter with what was attempted in front; other errors speak for themselves. */
export function inContext(err: unknown, what: string): unknown {
  const known = toVSphereOperationError(err);
  if (known === undefined) return err;
  return new OperationError(known.type, `can't ${what}: ${known.message}`, {
    ...known.details,
    retryable: known.retryable,
    cause: err,
  });
}
