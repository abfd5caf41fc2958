import type { MoRef, VSphereSession } from '../port.ts';
import { isFault } from '../session-core.ts';
import type { SourceCallOptions, SourcePower } from '../source-port.ts';
import type { PowerState } from '../vm-port.ts';
import { settleTask, waitForTask, whileBusy } from './source-tasks.ts';
import { callOptions } from './ticking.ts';
import { goneFault, isGone } from './vm-ref.ts';

const powers: Readonly<Record<PowerState, SourcePower>> = {
  poweredOn: 'on',
  poweredOff: 'off',
  suspended: 'suspended',
};

export async function readPower(
  session: VSphereSession,
  vm: MoRef,
  options: SourceCallOptions,
): Promise<SourcePower | undefined> {
  try {
    const [content] = await session.retrieve([vm], ['runtime.powerState'], callOptions(options));
    const state = content?.props.get('runtime.powerState') as PowerState | undefined;
    return state === undefined ? undefined : powers[state];
  } catch (error) {
    if (isGone(error, vm)) return undefined;
    throw error;
  }
}

/** Guest shutdown, and off the hard way where nobody listens, or not in time. Nothing is asked of a VM that is off. */
export async function powerOff(
  session: VSphereSession,
  vm: MoRef,
  options: SourceCallOptions & { readonly graceMs: number },
): Promise<void> {
  await settleTask(session, options);
  const power = await needPower(session, vm, 'PowerOffVM_Task', options);
  if (power === 'off') return;
  if (power === 'on' && (await shutDown(session, vm, options))) return;
  await change(session, vm, 'off', options);
}

export async function powerOn(session: VSphereSession, vm: MoRef, options: SourceCallOptions): Promise<void> {
  await settleTask(session, options);
  if ((await needPower(session, vm, 'PowerOnVM_Task', options)) === 'on') return;
  await change(session, vm, 'on', options);
}

/** False: the hard way is left. */
async function shutDown(
  session: VSphereSession,
  vm: MoRef,
  options: SourceCallOptions & { readonly graceMs: number },
): Promise<boolean> {
  if (options.graceMs <= 0) return false;
  try {
    await session.vms.shutdownGuest(vm, callOptions(options));
  } catch (error) {
    // Nobody listens, or the VM is not running any more, or is on its way elsewhere: the state tells which.
    if (!isFault(error, 'ToolsUnavailable', 'InvalidPowerState', 'InvalidState', 'NotSupported')) throw error;
    return (await needPower(session, vm, 'ShutdownGuest', options)) === 'off';
  }
  return await session.vms.waitForPower(vm, 'poweredOff', options.graceMs, callOptions(options));
}

async function change(
  session: VSphereSession,
  vm: MoRef,
  wanted: 'on' | 'off',
  options: SourceCallOptions,
): Promise<void> {
  const method = wanted === 'on' ? 'PowerOnVM_Task' : 'PowerOffVM_Task';
  await whileBusy(options, async () => {
    if ((await needPower(session, vm, method, options)) === wanted) return;
    try {
      const { vms } = session;
      const started =
        wanted === 'on' ? vms.startPowerOn(vm, callOptions(options)) : vms.startPowerOff(vm, callOptions(options));
      await waitForTask(session, await started, options);
    } catch (error) {
      // Somebody else, or the guest itself, was faster.
      if (!isFault(error, 'InvalidPowerState')) throw error;
      if ((await needPower(session, vm, method, options)) !== wanted) throw error;
    }
  });
}

async function needPower(
  session: VSphereSession,
  vm: MoRef,
  method: string,
  options: SourceCallOptions,
): Promise<SourcePower> {
  const power = await readPower(session, vm, options);
  if (power === undefined) throw goneFault(method, vm);
  return power;
}
