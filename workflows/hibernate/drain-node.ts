import {
  CancellationScope,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  isCancellation,
  setHandler,
  startChild,
  workflowInfo,
  ParentClosePolicy,
} from '@temporalio/workflow';
import type { DrainActivities, DrainLook, MigrationActivities, Seen } from '../contracts/activities.ts';
import { longestAttribute, searchKeys } from '../contracts/attributes.ts';
import type {
  DrainCancel,
  DrainEntry,
  DrainNodeInput,
  DrainNodeResult,
  DrainNodeStatus,
  RequestMigrationInput,
  RequestMigrationResult,
} from '../contracts/hibernate.ts';
import { migrationRequestId } from '../contracts/ids.ts';
import { messages } from '../contracts/messages.ts';
import { drainPlan, type DrainMove, type DrainPlan } from '../domain/hibernate/drain.ts';
import { cutToBytes } from '../domain/text.ts';
import { elapsedMs } from '../domain/time.ts';
import { defined } from '../shared/defined.ts';
import { failure, knownFailure } from '../shared/failures.ts';
import { control, oneLine } from '../shared/proxies.ts';
import { budgets, mostTurns } from './budgets.ts';
import { DrainState } from './drain-state.ts';

/**
 * Empties a node: cordons it, and moves the main VMs of its sets to others, a few at a time. What can't move is told and tried
 * again until the deadline; it never stops the others.
 */
export async function drainNode(input: DrainNodeInput): Promise<DrainNodeResult> {
  const given = input as Partial<DrainNodeInput> | null | undefined;
  if (typeof given?.node !== 'string' || given.node === '')
    throw failure('InvalidRequest', 'a drain is of one node: { "node": … }', { code: 'INVALID' });
  return await new Drain(input).run();
}

/** How many looks in a row without a change until the next takes longer. */
const pauses = { shortestMs: 1_000, longestMs: 30_000 } as const;

class Drain {
  readonly #input: DrainNodeInput;
  readonly #state: DrainState;
  #maxParallel = 1;
  #isNews = false;
  #cancel: DrainCancel | undefined;
  #turns = 0;
  #pauseMs: number = pauses.shortestMs;

  constructor(input: DrainNodeInput) {
    this.#input = input;
    this.#state = new DrainState(input);
    setHandler(defineQuery<DrainNodeStatus>(messages.status), () => this.#state.status(), {
      description: 'What has moved, what moves, what can not',
    });
    setHandler(
      defineUpdate<string, [DrainCancel]>(messages.cancelDrain),
      (cancel) => {
        this.#cancel = cancel;
        this.#isNews = true;
        return 'nothing more is started; what moves is let run';
      },
      {
        description: 'Start nothing more: { by, uncordon?, reason? }',
        validator: (cancel) => {
          const body = cancel as Partial<DrainCancel> | null | undefined;
          if (typeof body?.by !== 'string' || body.by === '')
            throw failure('Refused', 'say who asks: by', { code: 'ORDER_REFUSED' });
        },
      },
    );
  }

  async run(): Promise<DrainNodeResult> {
    await this.#begin();
    for (const move of this.#state.moving) void this.#follow(move);
    for (;;) {
      this.#isNews = false;
      const seen = await this.#look();
      const plan = this.#plan(seen);
      this.#state.saw(plan);
      const ending = this.#ending(plan, seen.at);
      if (ending !== undefined) return await this.#end(ending);
      if (!this.#isEnding(seen.at)) await this.#start(plan);
      await this.#pause();
      await this.#continueWhenLong();
    }
  }

  async #begin(): Promise<void> {
    const { node, resume } = this.#input;
    const { wasCordoned, maxParallel } = await control<DrainActivities>(
      budgets.person,
      `check the drain of ${node}`,
    ).beginDrain(this.#input);
    this.#maxParallel = maxParallel;
    if (resume === undefined) this.#state.began(wasCordoned);
    await this.#cordon(true);
  }

  async #cordon(cordoned: boolean): Promise<void> {
    const { node, by = 'vmflow' } = this.#input;
    for (;;) {
      const { outcome, message = '' } = await control<DrainActivities>(
        budgets.change,
        `${cordoned ? 'cordon' : 'uncordon'} ${node}`,
      ).cordon({ node, cordoned, by });
      if (outcome === 'done') return;
      if (outcome === 'forbidden')
        throw failure('Forbidden', `node ${node} can't be cordoned: ${message}`, { code: 'CLUSTER_FORBIDDEN' });
    }
  }

  async #look(): Promise<Seen<DrainLook>> {
    return await control<DrainActivities>(budgets.look, `look at what runs on ${this.#input.node}`).lookAtDrain(
      this.#input.node,
    );
  }

  #plan({ look }: Seen<DrainLook>): DrainPlan {
    const here = new Map(look.candidates.map((one) => [`${one.set.namespace}/${one.set.name}`, one]));
    return drainPlan({
      node: this.#input.node,
      candidates: look.candidates,
      nodes: look.nodes,
      ...defined('targets', this.#input.targets),
      inFlight: this.#state.moving.map(({ set, target }) => ({
        set,
        target,
        requests: here.get(set)?.requests ?? { cpuMilli: 0, memory: 0, storage: 0, pods: 0 },
        // As long as it is still here it isn't in what is taken there.
        arriving: here.has(set),
      })),
      maxParallel: this.#maxParallel,
    });
  }

  #isEnding(at: string): boolean {
    const { deadline } = this.#input;
    return this.#cancel !== undefined || (deadline !== undefined && elapsedMs(deadline, at) > 0);
  }

  /** What moves is let run, whatever ends the drain. */
  #ending(plan: DrainPlan, at: string): DrainNodeResult['outcome'] | undefined {
    if (this.#state.moving.length > 0) return undefined;
    if (this.#isEnding(at)) return this.#cancel === undefined ? 'deadline' : 'cancelled';
    const isEmpty = plan.moves.length + plan.blocked.length + plan.waiting === 0;
    return isEmpty ? 'drained' : undefined;
  }

  async #start({ moves, pins }: DrainPlan): Promise<void> {
    for (const pin of pins) await this.#setTarget(pin, pin.target, pin.previous);
    for (const move of moves) {
      const entry = this.#state.started(move);
      void this.#follow(entry);
    }
    if (moves.length > 0) this.#pauseMs = pauses.shortestMs;
  }

  async #follow(entry: DrainEntry): Promise<void> {
    const result = await this.#request(entry);
    const hasMoved = result.outcome === 'migrated' || result.outcome === 'already-there';
    if (hasMoved && this.#input.unpinAfter !== false && entry.previous === '')
      await this.#setTarget(entry, '', entry.target);
    this.#state.ended(entry, hasMoved, result.message);
    this.#isNews = true;
  }

  /** Known by its own id: a drain that goes on in a new run finds it. */
  async #request({ set, target }: DrainEntry): Promise<RequestMigrationResult> {
    const { namespace, name } = nameOf(set);
    const { node, by, reason } = this.#input;
    const requestId = `drain-${node}-${workflowInfo().firstExecutionRunId.slice(0, 8)}-${target}`;
    const input: RequestMigrationInput = {
      namespace,
      name,
      requestId,
      to: target,
      reason: reason ?? `drain of ${node}`,
      ...defined('by', by),
    };
    try {
      const child = await startChild('requestMigration', {
        workflowId: migrationRequestId(namespace, name, requestId),
        args: [input],
        parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        staticSummary: oneLine(`Move ${set} off ${node}`),
        typedSearchAttributes: [
          { key: searchKeys.kind, value: 'migration-request' },
          { key: searchKeys.vm, value: cutToBytes(set, longestAttribute) },
          { key: searchKeys.source, value: node },
          { key: searchKeys.target, value: target },
        ],
      });
      return (await child.result()) as RequestMigrationResult;
    } catch (err) {
      if (isCancellation(err)) throw err;
      return { outcome: 'refused', to: target, message: knownFailure(err).message };
    }
  }

  /** An empty target leaves the VM where it is. Somebody who asks for another one meanwhile is not overruled. */
  async #setTarget({ set }: Pick<DrainMove, 'set'>, nodeName: string, expected: string): Promise<void> {
    await control<MigrationActivities>(budgets.change, `${set}: target "${nodeName}"`).setTarget({
      scope: nameOf(set),
      nodeName,
      expected,
    });
  }

  /** Longer and longer while nothing happens: new sets may come, and what is blocked may get free. */
  async #pause(): Promise<void> {
    const woke = await condition(() => this.#isNews, this.#pauseMs, { summary: 'look again' });
    this.#pauseMs = woke ? pauses.shortestMs : Math.min(pauses.longestMs, this.#pauseMs * 2);
  }

  async #end(outcome: DrainNodeResult['outcome']): Promise<DrainNodeResult> {
    if (this.#cancel?.uncordon === true && !this.#state.wasCordoned) await this.#cordon(false);
    await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    return this.#state.end(outcome);
  }

  /** Children outlive no run: only between moves. */
  async #continueWhenLong(): Promise<void> {
    this.#turns += 1;
    const isLong = workflowInfo().continueAsNewSuggested || this.#turns >= mostTurns;
    if (!isLong || this.#state.moving.length > 0 || !allHandlersFinished()) return;
    await continueAsNew<typeof drainNode>({ ...this.#input, resume: this.#state.resume(this.#cancel !== undefined) });
  }
}

function nameOf(set: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = set.split('/');
  return { namespace, name };
}
