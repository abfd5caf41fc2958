import type { VmopActivities, VmopWaits } from '../../workflows/contracts/activities.ts';
import { beating } from '../heartbeat.ts';
import { createCollect } from './collect.ts';
import { createCreateVmop, createDeleteVmop } from './create-vmop.ts';
import type { VmopDeps } from './deps.ts';
import { createFinish, createRelease } from './finish.ts';
import { createIntake, createLookAtVm } from './intake.ts';
import { createListActive } from './list-active.ts';
import { createAwaitMigratable } from './migratable.ts';
import { createAwaitOutcome } from './outcome.ts';
import { createPin } from './pin.ts';
import { createSendSignal } from './signal.ts';
import { createSweep } from './sweep.ts';
import { createTakeOver } from './take-over.ts';

/** The activities of VM operations. */
export function createVmopActivities(deps: VmopDeps): VmopActivities {
  return {
    ...beating({
      listActiveVmops: createListActive(deps),
      intake: createIntake(deps),
      lookAtVm: createLookAtVm(deps),
      createVmop: createCreateVmop(deps),
      deleteVmop: createDeleteVmop(deps),
      pin: createPin(deps),
      sendSignal: createSendSignal(deps),
      finishVmop: createFinish(deps),
    }),
    // These have more to show.
    takeOver: createTakeOver(deps),
    releaseVmop: createRelease(deps),
    sweepVmops: createSweep(deps),
    collectVmops: createCollect(deps),
  };
}

/** Those that wait. */
export function createVmopWaits(deps: VmopDeps): VmopWaits {
  return { awaitMigratable: createAwaitMigratable(deps), awaitOutcome: createAwaitOutcome(deps) };
}
