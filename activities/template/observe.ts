import type { SwapScope } from '../../workflows/contracts/activities.ts';
import type { FaultInfo } from '../../workflows/contracts/failures.ts';
import { toWireName } from '../../workflows/domain/template/names.ts';
import type { Observation } from '../../workflows/domain/template/observation.ts';
import { OperationError } from '../failures.ts';
import { toFaultInfo } from '../vsphere/fault-info.ts';
import { VimFault } from '../vsphere/faults.ts';
import { toVSphereOperationError } from '../vsphere/operation-error.ts';
import type { MoRef, VSphereSession } from '../vsphere/port.ts';
import { readVm, vmPaths, type ReadVm } from './read-vm.ts';

type Role = 'prod' | 'temp' | 'rollback';
const roles: readonly Role[] = ['prod', 'temp', 'rollback'];

/** An object may vanish between the two calls; then the whole look is repeated. */
const looks = 4;

/** Looks at the three names: three lookups and one property read. */
export async function observeNames(
  session: VSphereSession,
  scope: SwapScope,
  signal?: AbortSignal,
): Promise<Observation> {
  for (let look = 1; ; look++) {
    try {
      return await lookOnce(session, scope, signal);
    } catch (err) {
      if (!isGone(err) || look === looks) throw err;
    }
  }
}

async function lookOnce(
  session: VSphereSession,
  scope: SwapScope,
  signal: AbortSignal | undefined,
): Promise<Observation> {
  const options = signal === undefined ? {} : { signal };
  const found = new Map<Role, MoRef>();
  for (const role of roles) {
    const ref = await session.findChild(scope.folder, toWireName(scope.names[role]), options).catch((err: unknown) => {
      throw lookupFailed(role, scope, found, err);
    });
    if (ref === undefined) continue;
    if (ref.type !== 'VirtualMachine') throw heldByOther(role, scope, ref);
    found.set(role, ref);
  }
  if (found.size === 0) return { warnings: [] };
  const contents = await session.retrieve([...found.values()], vmPaths, options);
  const missing = [...found.values()].find((ref) => !contents.some((content) => content.ref.value === ref.value));
  if (missing !== undefined)
    throw new VimFault({
      kind: 'vim-fault',
      faultType: 'ManagedObjectNotFound',
      method: 'RetrievePropertiesEx',
      moRef: missing.value,
    });
  const draft = contents.map((content) => readVm(content, undefined));
  const serverTime = draft.some(({ marker }) => marker?.state === 'importing')
    ? await session.currentTime(options)
    : undefined;
  const read = new Map(contents.map((content) => [content.ref.value, readVm(content, serverTime)]));
  return assemble(found, read);
}

function assemble(found: ReadonlyMap<Role, MoRef>, read: ReadonlyMap<string, ReadVm>): Observation {
  const seen = [...found].map(([role, ref]) => [role, read.get(ref.value)] as const);
  return {
    ...Object.fromEntries(seen.map(([role, entry]) => [role, entry?.vm])),
    warnings: seen.flatMap(([role, entry]) => (role === 'prod' ? (entry?.warnings ?? []) : [])),
  };
}

function isGone(err: unknown): boolean {
  return err instanceof VimFault && err.faultType === 'ManagedObjectNotFound';
}

/** A failed lookup is a failure, never "not there". When it came on top of a missing production name, both are told. */
function lookupFailed(role: Role, scope: SwapScope, found: ReadonlyMap<Role, MoRef>, err: unknown): unknown {
  const known = toVSphereOperationError(err);
  if (known === undefined) return err;
  const lookup = `looking for the ${role} template "${scope.names[role]}" failed: ${known.message}`;
  const prodMissing = role !== 'prod' && !found.has('prod');
  const absent: FaultInfo = {
    kind: 'lookup',
    message: `prod not found: no object "${scope.names.prod}" in the folder`,
    method: 'FindChild',
  };
  const message = prodMissing ? `there is no template "${scope.names.prod}", and ${lookup}` : lookup;
  return new OperationError(known.type, `${message}; nothing was changed in vCenter`, {
    ...known.details,
    primary: prodMissing ? absent : toFaultInfo(err),
    ...(prodMissing ? { secondary: toFaultInfo(err) } : {}),
    retryable: known.retryable,
    cause: err,
  });
}

function heldByOther(role: Role, scope: SwapScope, ref: MoRef): OperationError {
  return new OperationError(
    'Foreign',
    `the ${role} name "${scope.names[role]}" belongs to a ${ref.type}, not to a VM; nothing was changed in vCenter`,
    {
      code: 'NAME_HELD_BY_OTHER_TYPE',
      primary: { kind: 'lookup', moRef: ref.value, message: `${ref.type} ${ref.value}` },
      next: 'rename that object or choose another template name',
    },
  );
}
