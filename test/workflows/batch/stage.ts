import { setTimeout } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import type { SlotsView } from '../../../workflows/contracts/batch.ts';
import { batchSlotsId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { transferQueueOf } from '../../../workflows/contracts/task-queues.ts';
import { workflowBundlePath } from '../../../workers/bundle.ts';
import { startTestServer, type ServerLog, type TestServer } from '../../stack/test-server.ts';
import { EntryWorld, type SourceVm } from '../../support/entry-world.ts';
import { waitFor } from '../../support/wait-for.ts';
import { createBatchActivities, type BatchHands, type Casting } from './batch-activities.ts';
import { BatchUnderTest, type BatchOptions } from './batch-under-test.ts';
import { createCopyActivities, createEntryActivities } from './entry-activities.ts';
import { Script } from './script.ts';

/** Between server and workers a task takes this long at most, on however busy a machine. */
const longestTransitMs = 10_000;

/** What keeps the clock to real time is waited for this long: else a test would take the time that it means to skip. */
const patienceMs = 120_000;

const usuallyCached = process.env['VMFLOW_TEST_CACHE'] === '0' ? 0 : 500;

/** Something that a workflow has told the logs. */
export interface StagedEvent {
  readonly action: string;
  /** UUID: logs come late, so that one of the test before may still be on its way. */
  readonly vm: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface UntilOptions {
  /** By the clock of the server. */
  readonly withinMs?: number;
  readonly stepMs?: number;
}

/** The workflows of batch migration on a server whose clock is moved by the test, with far sides in memory. */
export class Stage {
  readonly server: TestServer;
  readonly world = new EntryWorld();
  readonly script = new Script();
  readonly limits = { create: 0, import: 0 };
  readonly taskQueue = `test-${process.pid}`;
  readonly events: StagedEvent[];
  readonly #troubles: string[];
  readonly #casts = new Map<string, Casting>();
  readonly #batches: BatchUnderTest[] = [];
  readonly #cached: number;
  #workers: { readonly worker: Worker; readonly ended: Promise<void> }[] = [];

  private constructor(server: TestServer, events: StagedEvent[], troubles: string[], cached: number) {
    this.server = server;
    this.#cached = cached;
    this.events = events;
    this.#troubles = troubles;
  }

  /** Without cached workflows where a test stops workers: what waits for one that is gone, this server gives to no other. */
  static async open({ cached = usuallyCached } = {}): Promise<Stage> {
    const events: StagedEvent[] = [];
    const troubles: string[] = [];
    const hear = ({ level, message, facts }: ServerLog): void => {
      const { action, instance } = facts;
      if (typeof action === 'string' && typeof instance === 'string') events.push({ action, vm: instance, facts });
      if (level === 'WARN' || level === 'ERROR')
        troubles.push(`${message} ${facts['error'] instanceof Error ? facts['error'].message : ''}`);
    };
    const stage = new Stage(await startTestServer(hear), events, troubles, cached);
    await stage.startWorkers();
    return stage;
  }

  async startWorkers(): Promise<void> {
    const hands: BatchHands = {
      client: this.server.client,
      world: this.world,
      script: this.script,
      limits: this.limits,
      casts: this.#casts,
      now: () => this.server.now(),
    };
    const common = {
      connection: this.server.connection,
      namespace: this.server.namespace,
      maxHeartbeatThrottleInterval: '100ms',
      defaultHeartbeatThrottleInterval: '100ms',
      shutdownGraceTime: '1s',
    } as const;
    const workers = await Promise.all([
      Worker.create({
        ...common,
        taskQueue: this.taskQueue,
        workflowBundle: { codePath: await workflowBundlePath() },
        maxCachedWorkflows: this.#cached,
        activities: { ...createBatchActivities(hands), ...createEntryActivities(hands) },
      }),
      Worker.create({
        ...common,
        taskQueue: transferQueueOf(this.taskQueue),
        activities: { ...createCopyActivities(hands) },
      }),
    ]);
    this.#workers = workers.map((worker) => ({ worker, ended: worker.run() }));
  }

  /** No workflow and no activity makes progress until they are started again. */
  async stopWorkers(): Promise<void> {
    for (const { worker } of this.#workers) worker.shutdown();
    await Promise.all(this.#workers.map(({ ended }) => ended));
    this.#workers = [];
  }

  /**
   * A time to count windows from. What entries repeat every five minutes is never due on the full hours after it: a timer that fires
   * while its workflow is cancelling it is more than this server can take, and the workflow never goes on.
   */
  async soon(): Promise<number> {
    return (await this.server.now()) + 130_000;
  }

  /** A batch of these VMs, applied. */
  async batch(options: BatchOptions): Promise<BatchUnderTest> {
    const name = options.name ?? `b${process.pid}-${this.#casts.size + 1}`;
    const batch = new BatchUnderTest(this, name, options);
    this.#casts.set(batch.name, options);
    await batch.apply();
    this.#batches.push(batch);
    return batch;
  }

  /** What is due within this time happens; the clock goes on by itself while something is under way. */
  async advance(ms: number): Promise<void> {
    const moving = new Move(this.server.advance(ms));
    for (;;) {
      await Promise.race([moving.done, this.#quiet(moving)]);
      if (moving.isDone) return;
      await this.server.freeClock();
    }
  }

  /** Up to this time of the server. */
  async advanceTo(time: number): Promise<void> {
    await this.advance(Math.max(time - (await this.server.now()), 0));
  }

  /** Resolves when nothing was under way for so long that nothing can be, or the clock has moved. */
  async #quiet(moving: Move): Promise<void> {
    for (let quietMs = 0; quietMs < longestTransitMs && !moving.isDone; quietMs += 20) {
      await setTimeout(20);
      if (this.#isBusy()) quietMs = 0;
    }
  }

  #isBusy(): boolean {
    if (this.#workers.length === 0) return true;
    return this.#workers.some(({ worker }) => {
      const { numInFlightActivities, numInFlightWorkflowActivations } = worker.getStatus();
      return numInFlightActivities + numInFlightWorkflowActivations > 0;
    });
  }

  /** What was said of a VM so far, once this was. */
  async eventsOf(vm: SourceVm, last: string): Promise<readonly string[]> {
    const said = (): string[] => this.events.filter((one) => one.vm === vm.record.uuid).map(({ action }) => action);
    await waitFor(`the event ${last}`, () => said().includes(last));
    return said();
  }

  /** Moves the clock until the probe answers something; fails when the time is over. */
  async until<T>(what: string, probe: () => Promise<T | undefined | false>, options: UntilOptions = {}): Promise<T> {
    const { withinMs = 600_000, stepMs = 1_000 } = options;
    const deadline = (await this.server.now()) + withinMs;
    const patienceEnds = Date.now() + patienceMs;
    for (;;) {
      const answer = await probe();
      if (answer !== undefined && answer !== false) return answer;
      if ((await this.server.now()) >= deadline || Date.now() >= patienceEnds)
        throw new Error(`waited ${withinMs} ms, or two minutes of real time, for ${what}; ${await this.#diagnosis()}`);
      await this.advance(stepMs);
    }
  }

  /** Instances that have or await a slot. */
  async slotHolders(): Promise<readonly string[]> {
    const handle = this.server.client.workflow.getHandle(batchSlotsId(this.taskQueue));
    try {
      const { slots } = await handle.query<SlotsView>(messages.status);
      return [...slots.holders, ...slots.waiting].map(({ holder }) => holder);
    } catch (err) {
      if (err instanceof WorkflowNotFoundError) return [];
      throw err;
    }
  }

  /** Moves the clock while something is waited for that needs it. */
  async during<T>(work: Promise<T>): Promise<T> {
    const state = { isDone: false };
    const done = (): void => void (state.isDone = true);
    work.then(done, done);
    const patienceEnds = Date.now() + patienceMs;
    while (!state.isDone) {
      if (Date.now() >= patienceEnds)
        throw new Error(`it did not end in two minutes of real time; ${await this.#diagnosis()}`);
      await this.advance(500);
    }
    return await work;
  }

  /** Ends what the test has begun, so that the next one has the clock for itself; fails where something was breached. */
  async clear(): Promise<void> {
    this.script.clear();
    Object.assign(this.limits, { create: 0, import: 0 });
    for (const batch of this.#batches.splice(0)) await batch.end();
    this.world.clear();
    this.events.length = 0;
    const breaches = this.world.breaches.splice(0);
    if (breaches.length > 0) throw new Error(`the workflows asked for what must never be: ${breaches.join('; ')}`);
  }

  async close(): Promise<void> {
    await this.stopWorkers();
    await this.server.stop();
  }

  async #diagnosis(): Promise<string> {
    const views = await Promise.all(this.#batches.map((batch) => batch.diagnosis()));
    return [...views, ...this.#troubles.slice(-5)].join('\n');
  }
}

/** A clock on its way. */
class Move {
  readonly done: Promise<void>;
  #isDone = false;

  constructor(moved: Promise<void>) {
    this.done = moved.then(() => void (this.#isDone = true));
  }

  get isDone(): boolean {
    return this.#isDone;
  }
}
