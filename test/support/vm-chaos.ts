import { setTimeout as sleep } from 'node:timers/promises';
import { vmCoordinatorId, vmOperationId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { VmopType } from '../../workflows/contracts/vmop.ts';
import { superseders } from '../../workflows/domain/vmop/matrix.ts';
import { switches } from '../sim/vm-layer/switches.ts';
import type { OperationHistory } from './operation-history.ts';
import type { OperationUnderTest, VmRig, VmScenario } from './vm-rig.ts';

interface Kind {
  readonly type: VmopType;
  readonly force?: boolean;
}

const all: readonly Kind[] = [
  { type: 'Start' },
  { type: 'Stop' },
  { type: 'Stop', force: true },
  { type: 'Restart' },
  { type: 'Restart', force: true },
  { type: 'Migrate' },
  { type: 'Evict' },
];

type Pick = <T>(list: readonly T[]) => T | undefined;

/** Mostly what has a chance: something that takes over, or something that fits the VM. Now and then anything. */
function nextKind(
  scenario: VmScenario,
  vmName: string,
  history: OperationHistory,
  random: () => number,
  pick: Pick,
): Kind {
  const anything = pick(all) ?? { type: 'Stop' };
  const dice = random();
  if (dice < 0.15) return anything;
  const active = history.newestActive(vmName);
  if (active !== undefined) return pick(superseders(active.ref)) ?? anything;
  if (scenario.look(vmName)?.phase === 'Stopped') return { type: 'Start' };
  return pick(all.filter(({ type }) => type !== 'Start')) ?? anything;
}

/** Makes a mess of a namespace for a while, always in the same order for the same seed. */
export async function makeAMess(
  rig: VmRig,
  scenario: VmScenario,
  vmNames: readonly string[],
  history: OperationHistory,
  actions: number,
  random: () => number,
): Promise<OperationUnderTest[]> {
  const operations: OperationUnderTest[] = [];
  const pick: Pick = (list) => list[Math.floor(random() * list.length)];
  const disturb = disturbApi(rig, random);
  for (let n = 0; n < actions; n++) {
    const vmName = pick(vmNames) ?? '';
    const dice = random();
    const kind = nextKind(scenario, vmName, history, random, pick);
    const victim = pick(operations.filter(({ created }) => created.ref.vmName === vmName));
    if (dice < 0.62) {
      const operation = await scenario.op(kind.type, vmName, {
        unseen: true,
        name: `op-${String(n).padStart(3, '0')}`,
        ...(kind.force === undefined ? {} : { force: kind.force }),
      });
      operations.push(operation);
      void operation.submit().catch(() => undefined); // as a bridge would: the sweep does the rest
    } else if (dice < 0.7 && victim !== undefined) {
      await victim.remove();
      void scenario
        .coordinator(vmName)
        .signal(messages.opDeleted, { uid: victim.uid })
        .catch(() => undefined);
    } else if (dice < 0.76 && victim !== undefined) {
      const order = { uid: victim.uid, by: 'chaos', reason: 'by chance' };
      void scenario
        .coordinator(vmName)
        .executeUpdate(messages.abandon, { args: [order] })
        .catch(() => undefined);
    } else if (dice < 0.84) {
      await scenario.annotate(vmName, { [switches.unschedulable]: random() < 0.5 ? 'true' : undefined });
    } else if (dice < 0.9) {
      await scenario.annotate(vmName, { [switches.migrationStuckAt]: random() < 0.5 ? 'Running' : undefined });
    } else if (dice < 0.96) {
      const id =
        victim === undefined || random() < 0.5
          ? vmCoordinatorId(scenario.namespace, vmName)
          : vmOperationId(scenario.namespace, victim.uid);
      await rig.client.workflow
        .getHandle(id)
        .terminate('chaos')
        .catch(() => undefined);
    } else {
      await rig.killWorkers();
      await rig.startWorker();
    }
    await sleep(random() * 400);
  }
  disturb.stop();
  for (const vmName of vmNames)
    await scenario.annotate(vmName, { [switches.unschedulable]: undefined, [switches.migrationStuckAt]: undefined });
  return operations;
}

/** One call in twelve of the workers is lost, its answer is, or it comes late. */
function disturbApi(rig: VmRig, random: () => number): { stop(): void } {
  const some = (share: number) => (): boolean => random() < share;
  const rules = [
    rig.proxy.addRule({ method: '*', times: Infinity, match: some(0.02), action: 'drop-before' }),
    rig.proxy.addRule({ method: '*', times: Infinity, match: some(0.03), action: 'drop-after' }),
    rig.proxy.addRule({ method: '*', times: Infinity, match: some(0.03), action: 'delay', delayMs: 700 }),
    rig.proxy.refuse({ method: '*', match: some(0.01) }, 503, 'ServiceUnavailable'),
    rig.proxy.refuse({ method: '*', match: some(0.01) }, 429, 'TooManyRequests'),
  ];
  return {
    stop: () => {
      for (const rule of rules) rule.remove();
    },
  };
}
