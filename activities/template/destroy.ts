import type { DestroyInput, DestroyResult, TemplateActivities } from '../../workflows/contracts/activities.ts';
import { sameWireName, toWireName } from '../../workflows/domain/template/names.ts';
import type { ObservedVm } from '../../workflows/domain/template/observation.ts';
import { OperationError } from '../failures.ts';
import { pause, whileBeating } from '../heartbeat.ts';
import { VSphereError, VimFault } from '../vsphere/faults.ts';
import { isFaultType } from '../vsphere/fault-hierarchy.ts';
import { toVSphereOperationError } from '../vsphere/operation-error.ts';
import type { MoRef, VSphereSession } from '../vsphere/port.ts';
import { onVCenter } from '../vsphere/on-vcenter.ts';
import type { TemplateDeps } from './deps.ts';
import { observeNames } from './observe.ts';
import { nameOf, reobserve, settled, stopSignal } from './rename.ts';

/** A crashed import's lease holds its VM until it times out, about five minutes; some time on top. */
const leaseGraceS = 60;
const defaultLeaseTimeoutS = 300;
const firstWaitMs = 2_000;
const longestWaitMs = 30_000;

/** Removes a left-over temp VM, waiting out the lease that may still hold it. */
export function createDestroyTemp(deps: TemplateDeps): TemplateActivities['destroyTemp'] {
  return createDestroy(deps, async (session, input, signal) => {
    await destroyPatiently(session, input.vm, (input.leaseTimeoutS ?? defaultLeaseTimeoutS) + leaseGraceS, signal);
  });
}

/** Destroys the previous template once the production name stands for a good one. Waiting for clones is left to the retry policy. */
export function createDestroyRollback(deps: TemplateDeps): TemplateActivities['destroyRollback'] {
  return createDestroy(deps, async (session, input) => {
    const { prod, rollback } = await observeNames(session, input.scope);
    if (prod?.isTemplate !== true || prod.version === undefined)
      throw reobserve('the production template is not in place');
    await unmarkIfSnapshots(session, input, rollback);
    await destroy(session, input.vm);
  });
}

type Destroyer = (session: VSphereSession, input: DestroyInput, signal: AbortSignal) => Promise<void>;

/** Only the object that was seen is destroyed, and only while it has the name under which it was seen. */
function createDestroy(deps: TemplateDeps, destroyer: Destroyer): (input: DestroyInput) => Promise<DestroyResult> {
  return async (input) => {
    return await onVCenter(deps, input.scope.vcenter, `destroy ${input.name}`, (session) =>
      whileBeating(
        () => ({ v: 1, phase: `destroying ${input.name}` }),
        async () => {
          const name = await nameOf(session, input.vm);
          const isThere = name !== undefined && sameWireName(name, toWireName(input.name));
          if (isThere) await destroyer(session, input, stopSignal());
          // Gone already: an earlier attempt did it whose answer got lost.
          const destroyed = isThere || name === undefined;
          return { destroyed, observation: await observeNames(session, input.scope) };
        },
      ),
    );
  };
}

/** Destroys; gone already is as good. */
export async function destroy(session: VSphereSession, vm: MoRef): Promise<void> {
  try {
    await session.waitForTask(await session.startDestroy(vm));
  } catch (err) {
    if (err instanceof VimFault && err.faultType === 'ManagedObjectNotFound') return;
    if (!(err instanceof VSphereError && err.outcomeUnknown)) throw err;
    await settled(session, vm, stopSignal());
    if ((await nameOf(session, vm)) !== undefined) throw err;
  }
}

const heldByOthers = ['InvalidState', 'ResourceInUse', 'MethodDisabled', 'ConcurrentAccess', 'FileLocked'];

/** Destroys, waiting while somebody (a lease, a clone) holds the VM, for `patienceS` seconds at most. */
export async function destroyPatiently(
  session: VSphereSession,
  vm: MoRef,
  patienceS: number,
  signal: AbortSignal,
): Promise<void> {
  const until = Date.now() + patienceS * 1000;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      await destroy(session, vm);
      return;
    } catch (err) {
      if (!isHeld(err)) throw err;
      if (Date.now() + waitMs > until) throw locked(vm, err);
    }
    await pause(waitMs, signal);
  }
}

function isHeld(err: unknown): boolean {
  if (!(err instanceof VimFault) || isFaultType(err.faultType, 'InvalidPowerState')) return false;
  return heldByOthers.some((type) => isFaultType(err.faultType, type));
}

function locked(vm: MoRef, err: unknown): OperationError {
  const known = toVSphereOperationError(err);
  return new OperationError(
    'Busy',
    `can't destroy ${vm.value}: ${known?.message ?? String(err)}; a lease of an interrupted import may still hold it`,
    {
      code: 'TEMP_LOCKED',
      primary: known?.details.primary,
      cause: err,
    },
  );
}

/** A template with snapshots can't be destroyed as such: it becomes a VM first. */
async function unmarkIfSnapshots(
  session: VSphereSession,
  input: DestroyInput,
  rollback: ObservedVm | undefined,
): Promise<void> {
  if (rollback?.ref.value !== input.vm.value || !rollback.isTemplate || !rollback.hasSnapshot) return;
  await session.markAsVirtualMachine(input.vm, input.pool, undefined);
}
