import {
  CancellationScope,
  allHandlersFinished,
  condition,
  isCancellation,
  sleep,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { TemplateActivities, TemplateTransferActivities } from '../contracts/activities.ts';
import type { Conflict } from '../contracts/conflict.ts';
import { memoOf } from '../contracts/template-memo.ts';
import type { TemplateSwapRequest, TemplateSwapResult } from '../contracts/template.ts';
import type { Observation } from '../domain/template/observation.ts';
import { criticalActions, phaseOfAction } from '../domain/template/phases.ts';
import { describeState, isOurTemp, plan, type Action, type Plan } from '../domain/template/plan.ts';
import { ConflictDesk } from '../shared/conflict-desk.ts';
import { failure, knownFailure } from '../shared/failures.ts';
import { control, transfer } from '../shared/proxies.ts';
import { absentRetryMs, budgets, capacityRetryMs, maxRounds } from './budgets.ts';
import { foreignObject, nameConflict } from './conflicts.ts';
import { carryOut } from './steps.ts';
import { listenToOperators, type Operators } from './operators.ts';
import { SwapState } from './swap-state.ts';

/** Brings a new OVA in beside the live template and swaps it in by rename. One per template: the workflow id is the lock. */
export async function templateSwap(request: TemplateSwapRequest): Promise<TemplateSwapResult> {
  return await new TemplateSwap(request).run();
}

class TemplateSwap {
  readonly #state: SwapState;
  readonly #desk = new ConflictDesk();
  readonly #operators: Operators;

  constructor(request: TemplateSwapRequest) {
    this.#state = new SwapState(request);
    this.#desk.listen();
    this.#operators = listenToOperators(this.#state);
  }

  async run(): Promise<TemplateSwapResult> {
    try {
      await this.#prepare();
      if (this.#state.options.dryRun) return await this.#planOnly();
      for (;;) {
        await this.#converge();
        const result = await this.#keepPrevious();
        if (result !== undefined) return result;
      }
    } catch (err) {
      if (isCancellation(err) && this.#state.renamed !== undefined) return await this.#finishAfterCancel();
      await this.#giveUp(err);
      throw err;
    } finally {
      // A cancelled swap may still end well: waiting for the handlers must not make a cancellation of it.
      await this.#uninterrupted(() => condition(allHandlersFinished));
    }
  }

  async #prepare(): Promise<void> {
    const state = this.#state;
    state.enter('Validating');
    state.validated = await control<TemplateActivities>(budgets.validate, 'check the request').validateTemplateSwap(
      state.request,
    );
    rememberForLists(state.validated.request);
    state.enter('Preflight');
    state.placement = await control<TemplateActivities>(
      budgets.preflight,
      `resolve ${state.path} and its placement`,
    ).preflight(state.validated);
    state.warn(...state.placement.warnings);
  }

  async #planOnly(): Promise<TemplateSwapResult> {
    const observation = await this.#observe();
    const next = plan(observation, this.#state.wanted);
    const summary = {
      row: next.row,
      actions: next.kind === 'go' ? next.actions : [],
      ...(next.kind === 'fail' || next.kind === 'conflict' ? { problem: next.code } : {}),
    };
    this.#state.enter('Completed', `row ${next.row}: ${describeState(observation, this.#state.wanted)}`);
    return this.#state.conclude('planned', { plan: summary });
  }

  /** Observe, plan, act, until the wanted version is in place and nothing of ours is left beside it. */
  async #converge(): Promise<void> {
    const state = this.#state;
    let observation = await this.#observe();
    for (let round = 1; ; round++) {
      if (this.#operators.takeRetarget(state)) {
        state.enter('Observing');
        observation = await this.#observe();
      }
      const next = plan(observation, state.wanted);
      state.row = next.row;
      if (next.kind === 'done') {
        state.warn(...next.warnings);
        await this.#verify();
        return;
      }
      if (next.kind === 'fail') throw this.#planFailure(next, observation);
      if (next.kind === 'conflict') {
        await this.#ask(foreignObject(next, observation, state.names, state.target.version, now()));
        observation = await this.#observe();
        continue;
      }
      state.warn(...next.warnings);
      if (next.actions[0] === 'destroyRollback' && state.renamed !== undefined) {
        await this.#verify();
        if (this.#keeps()) return;
      }
      if (round > maxRounds && state.prodAbsentSince === undefined) throw notConverging(state, next);
      observation = await this.#act(next, observation);
    }
  }

  /** Carries out the first action of a plan. What can't go on is turned into a wait, a question or a new look. */
  async #act(next: Extract<Plan, { kind: 'go' }>, observation: Observation): Promise<Observation> {
    const state = this.#state;
    const [action] = next.actions;
    try {
      if (next.actions.includes('import') && action !== 'restore') await this.#fetchSource();
      state.enter(phaseOfAction[action]);
      const seen = criticalActions.includes(action)
        ? await this.#uninterrupted(() => carryOut(action, state, observation))
        : await this.#operators.interruptible(() => carryOut(action, state, observation));
      state.saw(seen);
      return seen;
    } catch (err) {
      return await this.#recover(err, action);
    }
  }

  /** The source is read before anything is changed for it, once per target. */
  async #fetchSource(): Promise<void> {
    const state = this.#state;
    if (state.source !== undefined) return;
    state.enter('FetchingSource');
    const { verifyManifest, strictOva } = state.options;
    const { source, target } = state.request;
    state.source = await this.#operators.interruptible(() =>
      transfer<TemplateTransferActivities>(
        budgets.ensureSource,
        `read and verify the OVA of ${target.version}`,
      ).ensureSource({
        source,
        target,
        verifyManifest,
        strictOva,
      }),
    );
    state.warn(...state.source.warnings);
    state.markStep('source', 'done');
  }

  async #recover(err: unknown, action: Action): Promise<Observation> {
    if (isCancellation(err)) {
      if (!this.#operators.isRetargeting) throw err;
      return await this.#observe();
    }
    const known = knownFailure(err);
    if (known.details?.code === 'PROD_RECREATED' || known.details?.code === 'FOREIGN_RENAME') {
      await this.#ask(nameConflict(known.details, known.message, now()));
      return await this.#observe();
    }
    if (known.type === 'NoSpace') {
      await this.#waitForSpace(known.message);
      return await this.#observe();
    }
    if (known.details?.code === 'REOBSERVE') return await this.#observe();
    const absentSince = known.details?.facts?.['absentSince'];
    if (typeof absentSince === 'number') this.#state.prodAbsentSince ??= absentSince;
    if (!criticalActions.includes(action)) throw err;
    return await this.#lookAgainAfter(err, known.message);
  }

  /** A rename failed for good. As long as the production name is absent there is no giving up. */
  async #lookAgainAfter(err: unknown, message: string): Promise<Observation> {
    const observation = await this.#observe();
    if (this.#state.prodAbsentSince === undefined) throw err;
    this.#state.enter('Restoring', message);
    await this.#uninterrupted(() =>
      sleep(absentRetryMs, { summary: 'the production name is absent: try again at once' }),
    );
    return observation;
  }

  async #waitForSpace(message: string): Promise<void> {
    const state = this.#state;
    state.deadline = Date.now() + capacityRetryMs;
    state.enter('WaitingForSpace', message);
    await this.#unlessRetargeted(() => this.#operators.retryRequested(capacityRetryMs));
    state.deadline = undefined;
  }

  /** Asks a person and does what they decide; without a decision in time, or with `abort`, the swap fails. */
  async #ask(conflict: Conflict): Promise<void> {
    const state = this.#state;
    const timeoutMs = state.options.conflictTimeoutMinutes * 60_000;
    state.conflict = conflict;
    state.deadline = Date.now() + timeoutMs;
    state.enter('Conflict', conflict.what);
    const summary = `conflict ${conflict.code}: waiting for a decision`;
    const resolution = await this.#unlessRetargeted(() => this.#desk.decision(conflict, timeoutMs, summary));
    state.conflict = undefined;
    state.deadline = undefined;
    if (this.#operators.isRetargeting) return;
    const object = conflict.id.slice(conflict.id.lastIndexOf('/') + 1);
    if (resolution?.decision === 'adopt') state.adopted.push(object);
    if (resolution?.decision === 'destroy-foreign') state.givenUp.push(object);
    if (resolution === undefined || resolution.decision === 'abort') throw conflictUnresolved(conflict, resolution?.by);
  }

  /** A wait that a new target ends. */
  async #unlessRetargeted<T>(wait: () => Promise<T>): Promise<T | undefined> {
    try {
      return await this.#operators.interruptible(wait);
    } catch (err) {
      if (isCancellation(err) && this.#operators.isRetargeting) return undefined;
      throw err;
    }
  }

  /** What stands under the production name is looked at once more, even when the swap was cancelled meanwhile. */
  async #verify(): Promise<void> {
    const state = this.#state;
    const prod = state.observed?.prod;
    if (prod === undefined || state.renamed === undefined || state.verified) return;
    state.enter('Verifying');
    const summary = `verify that ${state.names.prod} is ${state.target.version}`;
    const input = { scope: state.scope, expected: prod.ref };
    state.saw(await this.#uninterrupted(() => control<TemplateActivities>(budgets.verify, summary).verifyProd(input)));
    state.verified = true;
  }

  /** The new template is in place: a cancellation only leaves the previous one to the next run. */
  async #finishAfterCancel(): Promise<TemplateSwapResult> {
    const state = this.#state;
    await this.#verify();
    if (state.observed?.rollback !== undefined)
      state.warn(`cancelled after the swap: ${state.names.rollback} is still there; the next run removes it`);
    return this.#complete();
  }

  #keeps(): boolean {
    return this.#state.options.keepRollbackMinutes > 0 && this.#state.keptUntil === undefined;
  }

  /** Keeps the previous version for an undo if asked to; returns the result, or nothing when a new target came. */
  async #keepPrevious(): Promise<TemplateSwapResult | undefined> {
    const state = this.#state;
    const hasPrevious = state.renamed !== undefined && state.observed?.rollback !== undefined;
    if (hasPrevious && this.#keeps()) {
      const keepMs = state.options.keepRollbackMinutes * 60_000;
      state.keptUntil = Date.now() + keepMs;
      state.deadline = state.keptUntil;
      state.conclude(state.outcome());
      state.enter('Keeping');
      const end = await this.#operators.keepingEnds(keepMs).finally(() => (state.deadline = undefined));
      if (end === 'undo') return await this.#undo();
      if (end === 'cancelled') {
        state.warn(`the previous template is still there as ${state.names.rollback}; the next run removes it`);
        return this.#complete();
      }
      return undefined;
    }
    return this.#complete();
  }

  #complete(): TemplateSwapResult {
    const state = this.#state;
    const result = state.conclude(state.outcome());
    state.enter(
      'Completed',
      result.outcome === 'noop'
        ? `already at ${state.target.version}`
        : `${state.names.prod} is ${state.target.version}`,
    );
    return result;
  }

  /** Back to the previous template: one swap with the names the other way round, then the new one is destroyed. */
  async #undo(): Promise<TemplateSwapResult> {
    const state = this.#state;
    state.enter('Undoing');
    const observation = await this.#uninterrupted(() => carryOut('undo', state, state.observed ?? { warnings: [] }));
    state.saw(observation);
    state.enter('Undone');
    return state.conclude('undone');
  }

  async #observe(): Promise<Observation> {
    const state = this.#state;
    const observation = await this.#uninterrupted(() =>
      control<TemplateActivities>(
        budgets.observe,
        `look at ${state.names.prod}, ${state.names.temp}, ${state.names.rollback}`,
      ).observe(state.scope),
    );
    state.saw(observation);
    return observation;
  }

  async #uninterrupted<T>(work: () => Promise<T>): Promise<T> {
    return await CancellationScope.nonCancellable(work);
  }

  /** Cancelled or failed: nothing of ours may stay under the temp name, and the production name stays as it is. */
  async #giveUp(err: unknown): Promise<void> {
    const state = this.#state;
    state.conflict = undefined;
    state.deadline = undefined;
    state.failure = knownFailure(err);
    if (state.importBegan) await this.#uninterrupted(() => this.#removeOwnTemp());
    state.enter(isCancellation(err) ? 'Cancelled' : 'Failed', state.failure.message);
  }

  async #removeOwnTemp(): Promise<void> {
    const state = this.#state;
    try {
      const observation = await control<TemplateActivities>(
        budgets.lastLook,
        `look for a left-over ${state.names.temp}`,
      ).observe(state.scope);
      state.saw(observation);
      if (!isOurTemp(observation, state.wanted) || state.prodAbsentSince !== undefined) return;
      state.saw(await carryOut('destroyTemp', state, observation));
    } catch (err) {
      state.warn(
        `the temp VM ${state.names.temp} could not be removed: ${knownFailure(err).message}; the next run removes it`,
      );
    }
  }

  #planFailure(next: Extract<Plan, { kind: 'fail' }>, observation: Observation): Error {
    const state = this.#state;
    const where = `${state.path} (${describeState(observation, state.wanted)})`;
    const words = {
      PROD_MISSING: {
        type: 'NotFound',
        message: `can't update template ${where}: there is no template "${state.names.prod}" and no previous one "${state.names.rollback}" to restore; nothing was changed`,
        next: `vmflow template update ${state.names.prod} … --create`,
      },
      UNKNOWN_PROD_VERSION: {
        type: 'Refused',
        message: `can't update template ${where}: its version can't be told (no marker, no product version, or two that disagree); nothing was changed`,
        next: `vmflow template update ${state.names.prod} … --replace-unknown`,
      },
      PROD_NOT_TEMPLATE: {
        type: 'Refused',
        message: `can't update ${where}: "${state.names.prod}" is a VM that is powered on or not a template; nothing was changed`,
        next: `rename that VM or choose another template name`,
      },
    } as const;
    const { type, message, next: remedy } = words[next.code];
    return failure(type, message, {
      code: next.code,
      step: 'plan',
      next: remedy,
      facts: { row: next.row, prod: state.names.prod, temp: state.names.temp, rollback: state.names.rollback },
    });
  }
}

/** A swap that was started without the CLI gets the memo that lists and later updates read. */
function rememberForLists(request: TemplateSwapRequest): void {
  if (workflowInfo().memo?.['name'] === undefined) upsertMemo({ ...memoOf(request) });
}

function now(): string {
  return new Date(Date.now()).toISOString();
}

function notConverging(state: SwapState, next: Extract<Plan, { kind: 'go' }>): Error {
  return failure(
    'Refused',
    `gave up on ${state.path} after ${maxRounds} rounds: somebody else keeps changing these names (row ${next.row})`,
    {
      code: 'NOT_CONVERGING',
      step: 'plan',
      next: `find out who works with ${state.names.temp} or ${state.names.rollback}, then try again`,
    },
  );
}

function conflictUnresolved(conflict: Conflict, by: string | undefined): Error {
  const how = by === undefined ? 'nobody decided in time' : `${by} decided to abort`;
  return failure('Foreign', `${conflict.what}; ${how}, nothing further was changed`, {
    code: conflict.code,
    step: 'conflict',
    facts: { conflictId: conflict.id, expected: conflict.expected, found: conflict.found },
  });
}
