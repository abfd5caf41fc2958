import { ApplicationFailure, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type { LossAcknowledgement, MigrationOrder, MigrationRetarget, SlotGranted } from '../contracts/hibernate.ts';
import { messages } from '../contracts/messages.ts';
import { homeOf, orderProblem, retargetProblem } from '../domain/hibernate/orders.ts';
import type { Observation } from '../domain/hibernate/observation.ts';
import type { Order } from '../domain/hibernate/situation.ts';

export interface OrderDesk {
  /** Undefined: nothing was looked at yet. */
  readonly look: () => Observation | undefined;
  readonly setTarget: (nodeName: string, by: string) => Promise<string>;
  readonly order: (order: Order) => void;
  readonly abort: () => void;
  readonly acknowledge: (setUid: string) => void;
  readonly granted: () => void;
  readonly poke: () => void;
}

/** What people and other workflows say to a migration. Everything but a validated order changes nothing. */
export function listenToOrders(desk: OrderDesk): void {
  setHandler(defineSignal(messages.poke), desk.poke, { description: 'Look again now' });
  setHandler(defineSignal<[SlotGranted]>(messages.granted), desk.granted, { description: 'Of the gate: begin' });
  setHandler(
    defineUpdate<string, [MigrationOrder]>(messages.retry),
    () => {
      desk.order('retry');
      return 'it is tried again';
    },
    {
      description: 'Leave a hold and try again: { by, reason? }',
      validator: (body: MigrationOrder) => refuseUnless(orderOf(body) ?? orderProblem('retry', lookOf(desk))),
    },
  );
  setHandler(
    defineUpdate<string, [MigrationOrder]>(messages.abort),
    async ({ by }) => {
      const home = homeOf(lookOf(desk)) ?? '';
      const said = await desk.setTarget(home, by);
      desk.abort();
      return said;
    },
    {
      description: 'The VM is wanted back where it came from: { by, reason? }',
      validator: (body: MigrationOrder) => refuseUnless(orderOf(body) ?? orderProblem('abort', lookOf(desk))),
    },
  );
  setHandler(
    defineUpdate<string, [MigrationRetarget]>(messages.retarget),
    async ({ nodeName, by }) => await desk.setTarget(nodeName, by),
    {
      description: 'Another node: { nodeName, by, reason? }; empty: any',
      validator: (body: MigrationRetarget) =>
        refuseUnless(
          orderOf(body) ??
            (typeof body.nodeName === 'string' ? retargetProblem(body.nodeName, lookOf(desk)) : 'say where: nodeName'),
        ),
    },
  );
  setHandler(
    defineUpdate<string, [LossAcknowledgement]>(messages.acknowledgeLoss),
    ({ setUid }) => {
      desk.acknowledge(setUid);
      return 'the state of the VM is given up: a fresh one boots';
    },
    {
      description: 'Give up the state of the VM: { setUid, by, reason? }',
      validator: (body: LossAcknowledgement) =>
        refuseUnless(orderOf(body) ?? orderProblem('acknowledge-loss', lookOf(desk), body.setUid)),
    },
  );
}

function orderOf(body: Partial<MigrationOrder> | null | undefined): string | undefined {
  return typeof body?.by === 'string' && body.by !== '' ? undefined : 'say who asks: by';
}

function lookOf({ look }: OrderDesk): Observation {
  return look() ?? refuse('it has only just begun; ask again in a moment');
}

function refuseUnless(problem: string | undefined): void {
  if (problem !== undefined) refuse(problem);
}

function refuse(problem: string): never {
  throw ApplicationFailure.nonRetryable(problem, 'Refused', { code: 'ORDER_REFUSED' });
}
