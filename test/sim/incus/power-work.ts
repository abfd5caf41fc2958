import type { z } from 'zod';
import { occupy, release, resourcesOf } from './instance-work.ts';
import type { Instance } from './model.ts';
import { checkStartedNics } from './nic-conflicts.ts';
import type { Work } from './operations.ts';
import type { Server } from './server.ts';
import type { statePut } from './validate.ts';

type Order = z.infer<typeof statePut>;

/** What may be done in which state, and what comes of it. As real servers do, it is begun first and fails then. */
export function powerWork(server: Server, instance: Instance, order: Order): Work {
  return {
    project: instance.project,
    description: `Instance ${order.action}`,
    resources: resourcesOf(instance.project, instance.name),
    start() {
      check(server, instance, order);
      occupy(instance, order.action);
    },
    finish() {
      if (['stop', 'restart'].includes(order.action) && !order.force && instance.ignoresShutdown)
        throw new Error('Failed shutting down instance, status is "Running": context deadline exceeded');
      release(instance);
      perform(server, instance, order);
    },
    undo: () => release(instance),
  };
}

function check({ state }: Server, instance: Instance, { action, force }: Order): void {
  const { status } = instance;
  if (action === 'start') {
    if (status !== 'Stopped') throw new Error('The instance is already running');
    checkStartedNics(state, instance);
    const written = state.disksOf(instance).find(({ writer }) => writer);
    if (written !== undefined) throw new Error(`Failed to get "write" lock on volume ${written.name}`);
  } else if (action === 'unfreeze') {
    if (status !== 'Frozen') throw new Error('The instance is not frozen');
  } else if (status === 'Stopped') throw new Error('The instance is already stopped');
  else if (status === 'Frozen' && !force) throw new Error('The instance is frozen');
}

function perform({ journal }: Server, instance: Instance, { action }: Order): void {
  if (action === 'stop' || action === 'restart') stopNow(instance, () => journal.note('instance-stopped', instance));
  if (action === 'start' || action === 'restart') startNow(instance, () => journal.note('instance-started', instance));
  if (action === 'freeze') instance.status = 'Frozen';
  if (action === 'unfreeze') instance.status = 'Running';
}

export function startNow(instance: Instance, note: () => void): void {
  instance.status = 'Running';
  instance.startedMs = performance.now();
  instance.config['volatile.last_state.power'] = 'RUNNING';
  note();
}

export function stopNow(instance: Instance, note: () => void): void {
  instance.status = 'Stopped';
  instance.config['volatile.last_state.power'] = 'STOPPED';
  note();
}
