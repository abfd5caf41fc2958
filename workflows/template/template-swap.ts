import {
  CancellationScope,
  allHandlersFinished,
  condition,
  isCancellation,
  sleep,
  upsertMemo,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow';
import type { TemplateActivities, TemplateTransferActivities } from '../contracts/activities.ts';
import type { Conflict } from '../contracts/conflict.ts';
import { memoOf } from '../contracts/template-memo.ts';
import type { Retarget, TemplateSwapRequest, TemplateSwapResult } from '../contracts/template.ts';
import type { Observation, ObservedVm } from '../domain/template/observation.ts';
import { criticalActions, phaseOfAction } from '../domain/template/phases.ts';
import { describeState, isOurTemp, plan, type Action, type Plan } from '../domain/template/plan.ts';
import { swapRequestProblem } from '../domain/template/shape.ts';
import { ConflictDesk } from '../shared/conflict-desk.ts';
import { knownFailure } from '../shared/failures.ts';
import { control, transfer } from '../shared/proxies.ts';
import { now } from '../shared/now.ts';
import { absentRetry, budgets, capacityRetryMs, maxRounds } from './budgets.ts';
import { foreignObject, nameConflict } from './conflicts.ts';
import { conflictUnresolved, notConverging, planFailure, requestInvalid, requireOwnId } from './failures.ts';
import { listenToOperators, type KeepingEnd, type Operators } from './operators.ts';
import { withPatience } from './patience.ts';
import { carryOut, refOf } from './steps.ts';
import { SwapState } from './swap-state.ts';

/** Brings a new OVA in beside the live template and swaps it in by rename. One per template: the workflow id is the lock. */
export async function templateSwap(request: TemplateSwapRequest): Promise<TemplateSwapResult> {
  const problem = swapRequestProblem(request);
  if (problem !== undefined) throw requestInvalid('the request to update a template', problem);
  return await new TemplateSwap(request).run();
}

class TemplateSwap {
  readonly #state: SwapState;
  readonly #desk = new ConflictDesk();
  readonly #operators: Operators;
  /** Failed renames in a row while the production name is absent. */
  #absentLooks = 0;

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
    requireOwnId(state.validated.request);
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
      const retarget = this.#operators.takeRetarget();
      if (retarget !== undefined) {
        await this.#aimAt(retarget);
        observation = await this.#observe();
      }
      const next = plan(observation, state.wanted);
      state.row = next.row;
      if (next.kind === 'done') {
        state.warn(...next.warnings);
        await this.#verify();
        return;
      }
      if (next.kind === 'fail') throw planFailure(state, next, observation);
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

  /** The validator has seen to its shape; what only a schema finds leaves the target as it was. */
  async #aimAt({ source, target, by }: Retarget): Promise<void> {
    const state = this.#state;
    const request = { ...state.request, source, target };
    try {
      const check = control<TemplateActivities>(budgets.validate, `check the new target ${target.version}`);
      const validated = await check.validateTemplateSwap(request);
      state.warn(`changed from ${state.target.version} to ${target.version} on request of ${by}`);
      state.aimAt(request, validated);
    } catch (err) {
      if (isCancellation(err)) throw err;
      state.warn(`${by} asked for ${target.version}, which was not taken: ${knownFailure(err).message}`);
    }
    state.enter('Observing');
  }

  /** Carries out the first action of a plan. What can't go on is turned into a wait, a question or a new look. */
  async #act(next: Extract<Plan, { kind: 'go' }>, observation: Observation): Promise<Observation> {
    const state = this.#state;
    const [action] = next.actions;
    try {
      if (next.actions.includes('import') && action !== 'restore') await this.#fetchSource();
      state.enter(phaseOfAction[action]);
      const seen = criticalActions.includes(action)
        ? await this.#renamed(action, observation)
        : await this.#operators.interruptible(() => carryOut(action, state, observation));
      this.#absentLooks = 0;
      state.saw(seen);
      return seen;
    } catch (err) {
      return await this.#recover(err, action);
    }
  }

  /** Once begun, renames go on to their end. */
  async #renamed(action: Action | 'undo', observation: Observation): Promise<Observation> {
    return await withPatience(this.#state, this.#operators, () =>
      this.#uninterrupted(() => carryOut(action, this.#state, observation)),
    );
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
    if (known.details?.code === 'IMPORT_NOT_AS_WANTED' && this.#setAside(known.message)) return await this.#observe();
    const absentSince = known.details?.facts?.['absentSince'];
    if (typeof absentSince === 'number') this.#state.prodAbsentSince ??= absentSince;
    if (!criticalActions.includes(action)) throw err;
    return await this.#lookAgainAfter(err, known.message);
  }

  /** A temp VM of an earlier run that isn't as wanted is imported anew, unless it may be the only template left. */
  #setAside(why: string): boolean {
    const { observed, imported, unfit } = this.#state;
    const temp = observed?.temp?.ref.value;
    const isLast = observed?.prod === undefined && observed?.rollback === undefined;
    if (temp === undefined || temp === imported?.entity.value || isLast || unfit.includes(temp)) return false;
    unfit.push(temp);
    this.#state.warn(why);
    return true;
  }

  /** A rename failed for good. As long as the production name is absent there is no giving up. */
  async #lookAgainAfter(err: unknown, message: string): Promise<Observation> {
    const observation = await this.#observe(budgets.patientLook);
    if (this.#state.prodAbsentSince === undefined) throw err;
    this.#state.enter('Restoring', message);
    const pauseMs = Math.min(absentRetry.firstMs * 2 ** this.#absentLooks++, absentRetry.longestMs);
    await this.#uninterrupted(() => sleep(pauseMs, { summary: 'the production name is absent: try again' }));
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
    return this.#state.options.keepRollbackMinutes > 0 && !this.#state.hasKept;
  }

  /** Keeps the previous version for an undo if asked to; returns the result, or nothing when a new target came. */
  async #keepPrevious(): Promise<TemplateSwapResult | undefined> {
    const state = this.#state;
    const hasPrevious = state.renamed !== undefined && state.observed?.rollback !== undefined;
    if (!hasPrevious || !this.#keeps()) return this.#complete();
    state.hasKept = true;
    state.keptUntil = Date.now() + state.options.keepRollbackMinutes * 60_000;
    state.conclude(state.outcome());
    const end = await this.#keep(state.keptUntil);
    state.keptUntil = undefined;
    state.deadline = undefined;
    if (end === 'undone') {
      state.enter('Undone');
      const result = state.conclude('undone');
      state.publish();
      return result;
    }
    if (end !== 'cancelled') return undefined;
    state.warn(`the previous template is still there as ${state.names.rollback}; the next run removes it`);
    return this.#complete();
  }

  /** Keeps until its time is over or somebody ends it. A way back that was refused leaves everything as it was. */
  async #keep(until: number): Promise<Exclude<KeepingEnd, 'undo'> | 'undone'> {
    const state = this.#state;
    for (let why: string | undefined; ;) {
      state.deadline = until;
      state.enter('Keeping', why);
      const end = await this.#operators.keepingEnds(Math.max(1, until - Date.now()));
      if (end !== 'undo') return end;
      why = await this.#undo();
      if (why === undefined) return 'undone';
      state.warn(why);
    }
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

  /** Back to the previous template: one swap with the names the other way round. Answers why not, when it was refused. */
  async #undo(): Promise<string | undefined> {
    const state = this.#state;
    const before = state.observed;
    const { renamed, restored, previous, gapMs } = state;
    state.deadline = undefined;
    state.enter('Undoing');
    let why = 'the names are no longer as they were';
    try {
      state.saw(await this.#renamed('undo', before ?? { warnings: [] }));
    } catch (err) {
      why = isCancellation(err) ? 'it was cancelled' : knownFailure(err).message;
      await this.#untilProdIsThere(await this.#observe(budgets.patientLook));
    }
    const isBack = before?.rollback !== undefined && state.observed?.prod?.ref.value === before.rollback.ref.value;
    if (!isBack) {
      Object.assign(state, { renamed, restored, previous, gapMs });
      return `not gone back to the previous template: ${why}`;
    }
    if (before.prod !== undefined) state.previous = refOf(before.prod);
    await this.#destroyUndone(before.prod);
    return undefined;
  }

  /** Whatever a refused undo left: the state table knows what gives the name back. */
  async #untilProdIsThere(seen: Observation): Promise<void> {
    const state = this.#state;
    for (let observation = seen; observation.prod === undefined;) {
      const next = plan(observation, state.wanted);
      if (next.kind !== 'go' || !criticalActions.includes(next.actions[0])) return;
      observation = await this.#act(next, observation);
    }
  }

  /** The name is back already; what can't be removed is left to the next run. */
  async #destroyUndone(undone: ObservedVm | undefined): Promise<void> {
    const state = this.#state;
    const { observed } = state;
    if (observed?.temp === undefined || observed.temp.ref.value !== undone?.ref.value) return;
    try {
      state.saw(await this.#uninterrupted(() => carryOut('destroyUndone', state, observed)));
    } catch (err) {
      state.warn(`${state.names.temp} could not be removed: ${knownFailure(err).message}; the next run removes it`);
    }
  }

  async #observe(budget: ActivityOptions = budgets.observe): Promise<Observation> {
    const state = this.#state;
    const observation = await this.#uninterrupted(() =>
      control<TemplateActivities>(
        budget,
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
}

/** A swap that was started without the CLI gets the memo that lists and later updates read. */
function rememberForLists(request: TemplateSwapRequest): void {
  if (workflowInfo().memo?.['name'] === undefined) upsertMemo({ ...memoOf(request) });
}
