import { Client, Connection } from '@temporalio/client';
import type { MigrationView } from '../../workflows/contracts/batch.ts';
import { searchKeys } from '../../workflows/contracts/attributes.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import { waitFor } from '../support/wait-for.ts';
import { mustSucceed, say } from './demo-cli.ts';
import { sampleBatch, type SampleBatch, type SampleVm } from './sample-batch.ts';
import type { Stack } from './stack.ts';
import { clientInterceptors } from '../../workflows/contracts/ask-again.ts';

/** The window is reached while the disks are copied for the first time. */
const untilWindowMs = 30_000;
const windowMs = 3_600_000;

/** Twelve VMs move from vCenter to Incus; one has left the selection, one is changed, one is switched on behind our back. */
export async function batchStory(stack: Stack): Promise<void> {
  const start = new Date(Date.now() + untilWindowMs);
  const end = new Date(start.getTime() + windowMs);
  const windows = [{ name: 'tonight', start: start.toISOString(), end: end.toISOString() }];
  const batch = await sampleBatch(stack, { windows });
  const connection = await Connection.connect({ address: stack.temporal.address });
  const queue = new Queue(
    new Client({ connection, namespace: stack.temporal.namespace, interceptors: clientInterceptors }),
  );
  try {
    await tell(stack, batch, queue);
  } finally {
    await connection.close();
  }
}

async function tell(stack: Stack, batch: SampleBatch, queue: Queue): Promise<void> {
  const { control } = stack.vcsim;
  const vm = (name: string): SampleVm => batch.vms.find((one) => one.name === name)!;

  say('Twelve VMs are to migrate from vCenter to Incus, in a window');
  await mustSucceed(stack, ['batch', 'plan', '-f', batch.file]);
  await mustSucceed(stack, ['batch', 'apply', '-f', batch.file]);

  say('Before the start somebody moves one out of the folder that was selected');
  await control.moveVm(vm('mail').ref, '/DC0/vm');
  const held = holdLastCopy(stack, 'web-1');
  await mustSucceed(stack, ['batch', 'start', batch.name]);
  await queue.is('mail', ({ status }) => status === 'Conflict');
  await mustSucceed(stack, ['queue', 'list', '--batch', batch.name]);

  say('While the disks are copied one VM gets more CPUs, which would place it elsewhere');
  await control.changeVm(vm('app-1').ref, { cpus: 4 });
  await queue.is('db-1', ({ stage }) => stage === 'final');
  await mustSucceed(stack, ['batch', 'get', batch.name]);

  say('The window opens; both workers are killed in the middle');
  await queue.is('web-1', ({ committed, substate }) => committed && substate === 'copying');
  for (const kind of ['control', 'transfer'] as const) {
    console.log(`… kill -9 of the ${kind} worker`);
    await stack.workers.get(kind)?.kill();
    await stack.startWorker(kind);
  }
  console.log('… somebody switches the source of web-1 on again');
  await waitFor('web-1 to be off', async () => (await powerOf(stack, vm('web-1'))) === 'poweredOff');
  await control.powerOnVm(vm('web-1').ref);
  held.release();

  say('What needs a person');
  await queue.is('app-1', ({ status }) => status === 'Conflict', 300_000);
  await mustSucceed(stack, ['queue', 'list', '--batch', batch.name, '--status', 'conflict']);
  await mustSucceed(stack, ['queue', 'get', 'app-1']);
  await mustSucceed(stack, ['queue', 'resolve', 'mail', '--decision', 'recheck', '--reason', 'it belongs to the shop']);
  await control.changeVm(vm('app-1').ref, { cpus: 1 });
  await mustSucceed(stack, ['queue', 'resolve', 'app-1', '--decision', 'recheck', '--reason', 'back to one CPU']);

  say('In the end every VM is at the target with the bytes of its source, and every source is off');
  for (const { name } of batch.vms) await queue.is(name, ({ status }) => status === 'Finished', 300_000);
  for (const one of batch.vms) {
    const [source, target] = [
      await control.diskDigest(one.ref, 0),
      await stack.incus.volumeDigest('default', one.name, 0),
    ];
    if (source !== target) throw new Error(`the disk of ${one.name} at the target is not that of its source`);
    if ((await powerOf(stack, one)) !== 'poweredOff')
      throw new Error(`the source of ${one.name} runs beside its target`);
  }
  await mustSucceed(stack, ['queue', 'list', '--batch', batch.name]);
  await mustSucceed(stack, ['batch', 'get', batch.name]);
}

async function powerOf(stack: Stack, { ref }: SampleVm): Promise<string | undefined> {
  return (await stack.vcsim.control.vms()).find((one) => one.ref === ref)?.powerState;
}

/** Long enough for what is to happen to it: its last copy waits. */
function holdLastCopy(stack: Stack, name: string): { release(): void } {
  let open = (): void => undefined;
  const until = new Promise<void>((resolve) => (open = resolve));
  // Once to see that the disk can be written, once for the first copy.
  stack.incus.faults.add({
    path: new RegExp(`/virtual-machine/${name}/nbd$`),
    query: { writable: '1' },
    skip: 2,
    effect: { kind: 'hold', until },
  });
  return { release: () => open() };
}

/** The entries of the batch, as a client asks them. */
class Queue {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async is(name: string, isSo: (view: MigrationView) => boolean, timeoutMs = 180_000): Promise<void> {
    const query = `${searchKeys.kind.name} = 'migration' AND ${searchKeys.vm.name} = '${name}'`;
    await waitFor(
      `${name} in the queue`,
      async () => {
        for await (const { workflowId } of this.#client.workflow.list({ query }))
          return isSo(await this.#client.workflow.getHandle(workflowId).query<MigrationView>(messages.status));
        return false;
      },
      { timeoutMs, intervalMs: 200 },
    );
  }
}
