import { WithStartWorkflowOperation, type Workflow, type WorkflowHandle } from '@temporalio/client';
import { batchId, migrationId, shardId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import type {
  ApplyAnswer,
  BatchView,
  EntriesPage,
  MigrationView,
  ShardOrder,
  StartAnswer,
  Timeline,
} from '../../../workflows/contracts/batch.ts';
import type { BatchSpec, EntryStatus, MigrationWindow } from '../../../workflows/domain/batch/records.ts';
import type { SourceVm } from '../../support/entry-world.ts';
import { aBatch } from '../../unit/batch/record-builders.ts';
import type { Casting } from './batch-activities.ts';
import type { Stage, UntilOptions } from './stage.ts';
import { hour, minute } from './times.ts';

export interface BatchOptions extends Casting {
  readonly name?: string;
  readonly windows?: readonly MigrationWindow[];
  readonly constraints?: BatchSpec['constraints'];
  readonly config?: Partial<BatchSpec['config']>;
  readonly overrides?: BatchSpec['overrides'];
}

export const by = 'ops';

/** One batch and its entries, as people see and steer them. */
export class BatchUnderTest {
  readonly name: string;
  readonly handle: WorkflowHandle;
  readonly #stage: Stage;
  readonly #vms: readonly SourceVm[];
  #spec: BatchSpec;
  #isDeleted = false;

  constructor(
    stage: Stage,
    name: string,
    { vms, windows = [], constraints = [], config = {}, overrides = {} }: BatchOptions,
  ) {
    this.#stage = stage;
    this.name = name;
    this.#vms = vms;
    const usual = aBatch({ name, migration_windows: windows, constraints, overrides });
    // Few top-ups: a day passes in a second, and each of them takes a tenth of one. None so many minutes before a window that its
    // entry wakes by itself just then, see `Stage.soon`.
    const intervals = { background_sync_interval: 12 * hour, final_background_sync_limit: 11 * minute };
    this.#spec = { ...usual, config: { ...usual.config, ...intervals, ...config } };
    this.handle = stage.server.client.workflow.getHandle(batchId(name));
  }

  get spec(): BatchSpec {
    return this.#spec;
  }

  async apply(): Promise<ApplyAnswer> {
    const startWorkflowOperation = new WithStartWorkflowOperation('batch', {
      workflowId: batchId(this.name),
      taskQueue: this.#stage.taskQueue,
      args: [{ name: this.name }],
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    return await this.#stage.during(
      this.#stage.server.client.workflow.executeUpdateWithStart<Workflow, ApplyAnswer, [object]>(messages.apply, {
        args: [{ spec: this.#spec, by }],
        startWorkflowOperation,
      }),
    );
  }

  async start(): Promise<StartAnswer> {
    return await this.update<StartAnswer>(messages.start);
  }

  /** With another content. */
  async edit(change: Partial<BatchSpec>): Promise<ApplyAnswer> {
    this.#spec = { ...this.#spec, ...change };
    return await this.update<ApplyAnswer>(messages.edit, { spec: this.#spec });
  }

  /** The clock moves until it is done. */
  async update<T = string>(name: string, given: object = {}): Promise<T> {
    return await this.#stage.during(this.handle.executeUpdate<T, [object]>(name, { args: [{ by, ...given }] }));
  }

  async view(): Promise<BatchView> {
    return await this.handle.query<BatchView>(messages.status);
  }

  async rows(shard = 0): Promise<EntriesPage['rows']> {
    const handle = this.#stage.server.client.workflow.getHandle(shardId(this.name, shard));
    return (await handle.query<EntriesPage>(messages.entries)).rows;
  }

  async orderShard(order: ShardOrder, shard = 0): Promise<void> {
    await this.#stage.server.client.workflow.getHandle(shardId(this.name, shard)).signal(messages.shardOrder, order);
  }

  entry(vm: SourceVm): EntryUnderTest {
    return new EntryUnderTest(this.#stage, vm);
  }

  /** Waits for the status of the batch. */
  async becomes(status: BatchView['batchStatus'], options?: UntilOptions): Promise<BatchView> {
    return await this.#stage.until(
      `batch ${this.name} to be ${status}`,
      async () => {
        const view = await this.view();
        return view.batchStatus === status && view;
      },
      options,
    );
  }

  async delete(): Promise<void> {
    await this.update(messages.delete);
    this.#isDeleted = true;
  }

  /** Nothing of it is open any more. The shards go first: the server loses count of children that end after their parent. */
  async end(): Promise<void> {
    if (this.#isDeleted) return;
    const view = await this.view();
    if (view.batchStatus !== 'Defined') await this.update(messages.reset, { force: true });
    for (let shard = 0; shard < view.shards; shard += 1) {
      const handle = this.#stage.server.client.workflow.getHandle(shardId(this.name, shard));
      await handle.signal(messages.shardOrder, { kind: 'close' } satisfies ShardOrder);
      await this.#stage.until('the shard to close', async () => (await handle.describe()).status.name !== 'RUNNING');
    }
    await this.delete();
  }

  async diagnosis(): Promise<string> {
    const views = this.#vms.slice(0, 5).map(async (vm) => {
      const view = await this.entry(vm)
        .view()
        .catch((err: unknown) => String(err));
      const text = typeof view === 'string' ? view : `${view.status}/${view.stage} (${view.message})`;
      return `${vm.record.name}: ${text} [${this.#stage.world.story(vm).join(', ')}]`;
    });
    return (await Promise.all(views)).join('\n');
  }
}

export class EntryUnderTest {
  readonly vm: SourceVm;
  readonly handle: WorkflowHandle;
  readonly #stage: Stage;

  constructor(stage: Stage, vm: SourceVm) {
    this.#stage = stage;
    this.vm = vm;
    this.handle = stage.server.client.workflow.getHandle(migrationId(vm.record.uuid));
  }

  async view(): Promise<MigrationView> {
    return await this.handle.query<MigrationView>(messages.status);
  }

  async timeline(): Promise<Timeline> {
    return await this.handle.query<Timeline>(messages.timeline);
  }

  /** Statuses it has been in, one after the other. */
  async statuses(): Promise<EntryStatus[]> {
    return (await this.timeline()).map(({ status }) => status).filter((status, at, all) => status !== all[at - 1]);
  }

  /** Waits for a status, in this stage where one is named. */
  async reaches(status: EntryStatus, stage?: string, options?: UntilOptions): Promise<MigrationView> {
    return await this.is(
      `${status}${stage === undefined ? '' : `/${stage}`}`,
      (view) => view.entryStatus === status && (stage === undefined || view.stage === stage),
      options,
    );
  }

  async is(what: string, holds: (view: MigrationView) => boolean, options?: UntilOptions): Promise<MigrationView> {
    return await this.#stage.until(
      `${this.vm.record.name} to be ${what}`,
      async () => {
        const view = await this.view();
        return holds(view) && view;
      },
      options,
    );
  }

  /** Waits until it is nobody's any more. */
  async ends(): Promise<void> {
    const isOver = async (): Promise<boolean> => (await this.handle.describe()).status.name === 'COMPLETED';
    await this.#stage.until(`${this.vm.record.name} to have no entry`, isOver);
  }

  /** The clock stands until it is answered. */
  async update<T = string>(name: string, given: object = {}): Promise<T> {
    return await this.handle.executeUpdate<T, [object]>(name, { args: [{ by, ...given }] });
  }

  async resolve<T>(decision = 'recheck'): Promise<T> {
    const { conflict } = await this.view();
    return await this.#stage.during(this.update<T>(messages.resolve, { conflictId: conflict?.id, decision }));
  }
}
