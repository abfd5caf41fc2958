import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Effect } from './faults.ts';

/** As it is on the wire. */
export interface OperationView {
  readonly id: string;
  readonly class: 'task';
  readonly description: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly status: string;
  readonly status_code: number;
  readonly resources: Readonly<Record<string, readonly string[]>>;
  readonly metadata: null;
  readonly may_cancel: boolean;
  readonly err: string;
  readonly location: string;
}

export interface Work {
  readonly project: string;
  readonly description: string;
  readonly resources: Readonly<Record<string, readonly string[]>>;
  /** Runs at once; throwing makes the operation fail. */
  readonly start: () => void;
  /** Runs at the end; throwing makes the operation fail. */
  readonly finish: () => void | Promise<void>;
  /** Takes back what `start` has done. */
  readonly undo: () => void | Promise<void>;
}

interface Operation {
  view: OperationView;
  readonly project: string;
  readonly ended: Promise<void>;
  /** Whether the server was restarted meanwhile. */
  lost: boolean;
}

const failed = 400;

/** Work in the background: it goes on when the client hangs up, and is forgotten some time after its end. */
export class OperationBook {
  readonly #operations = new Map<string, Operation>();
  readonly #timing: { operationMs: number; operationKeptMs: number };

  constructor(timing: { operationMs: number; operationKeptMs: number }) {
    this.#timing = timing;
  }

  begin(work: Work, effect: Effect | undefined): OperationView {
    const now = new Date().toISOString();
    const view: OperationView = {
      id: randomUUID(),
      class: 'task',
      description: work.description,
      created_at: now,
      updated_at: now,
      status: 'Running',
      status_code: 103,
      resources: work.resources,
      metadata: null,
      may_cancel: false,
      err: '',
      location: 'none',
    };
    const operation: Operation = {
      view,
      project: work.project,
      lost: false,
      ended: Promise.resolve().then(() => this.#run(operation, work, effect)),
    };
    this.#operations.set(view.id, operation);
    return view;
  }

  find(id: string): OperationView | undefined {
    return this.#operations.get(id)?.view;
  }

  list(project: string): readonly OperationView[] {
    return [...this.#operations.values()].filter((known) => known.project === project).map(({ view }) => view);
  }

  /** Resolves at the end, or when the time is over; negative: there is no such time. */
  async wait(id: string, timeoutMs: number): Promise<OperationView | undefined> {
    const operation = this.#operations.get(id);
    if (operation === undefined) return undefined;
    const timer = new AbortController();
    const over = timeoutMs < 0 ? [] : [sleep(timeoutMs, undefined, { signal: timer.signal }).catch(() => undefined)];
    await Promise.race([operation.ended, ...over]);
    timer.abort();
    return operation.view;
  }

  /** What is under way is taken back at its end, and nobody knows of any operation any more. */
  loseAll(): void {
    for (const operation of this.#operations.values()) operation.lost = true;
    this.#operations.clear();
  }

  async #run(operation: Operation, work: Work, effect: Effect | undefined): Promise<void> {
    const error = await this.#outcome(operation, work, effect);
    const isGood = error === undefined;
    operation.view = {
      ...operation.view,
      updated_at: new Date().toISOString(),
      status: isGood ? 'Success' : 'Failure',
      status_code: isGood ? 200 : failed,
      err: error ?? '',
    };
    const { id } = operation.view;
    setTimeout(() => this.#operations.delete(id), this.#timing.operationKeptMs).unref();
  }

  /** Undefined: it went well. */
  async #outcome(operation: Operation, work: Work, effect: Effect | undefined): Promise<string | undefined> {
    try {
      work.start();
    } catch (error) {
      await this.#last(effect);
      return messageOf(error);
    }
    await this.#last(effect);
    try {
      if (operation.lost) throw new Error('the server was restarted');
      if (effect?.kind === 'fail-operation') throw new Error(effect.error);
      await (effect?.kind === 'no-effect' ? work.undo() : work.finish());
      return undefined;
    } catch (error) {
      await work.undo();
      return messageOf(error);
    }
  }

  async #last(effect: Effect | undefined): Promise<void> {
    if (effect?.kind === 'hold-operation') await effect.until;
    else await sleep(effect?.kind === 'slow-operation' ? effect.ms : this.#timing.operationMs);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
