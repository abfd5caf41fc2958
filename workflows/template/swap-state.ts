import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { ResolvedPlacement, SourceFacts, SwapScope, ValidatedSwap } from '../contracts/activities.ts';
import type { Conflict } from '../contracts/conflict.ts';
import type { Step, StepState } from '../contracts/status.ts';
import type {
  SwapOutcome,
  TemplateSwapRequest,
  TemplateSwapResult,
  TemplateSwapStatus,
} from '../contracts/template.ts';
import { sha256Hex } from '../domain/sha256.ts';
import { swapNames } from '../domain/template/names.ts';
import type { MoRef, Observation } from '../domain/template/observation.ts';
import { factsOf, isEnd, steps, type Phase, type StepId } from '../domain/template/phases.ts';
import type { Wanted } from '../domain/template/plan.ts';
import { folderPath } from '../contracts/ids.ts';
import { Publisher } from '../shared/attributes.ts';
import type { KnownFailure } from '../shared/failures.ts';
import { detailsOf } from './details.ts';
import { defaultLeaseTimeoutS } from './budgets.ts';

/** Longest operation id that goes into a VM's marker. */
const longestOpId = 200;

function operationId(): string {
  const { workflowId, firstExecutionRunId } = workflowInfo();
  const id = `${workflowId}/${firstExecutionRunId}`;
  return id.length <= longestOpId ? id : `~${sha256Hex(workflowId)}/${firstExecutionRunId}`;
}

/** Everything a swap knows, and its one answer to "how is it going". Has no commands of its own. */
export class SwapState {
  readonly #publisher = new Publisher();
  readonly #warnings = new Set<string>();
  readonly #stepStates = new Map<StepId, StepState>();
  readonly #timings = new Map<Phase, number>();
  #activeStep: StepId | undefined;
  #progress = 0;
  #phaseSince = Date.now();

  request: TemplateSwapRequest;
  phase: Phase = 'Validating';
  message = '';
  conflict: Conflict | undefined;
  deadline: number | undefined;
  validated: ValidatedSwap | undefined;
  placement: ResolvedPlacement | undefined;
  source: SourceFacts | undefined;
  observed: Observation | undefined;
  row: string | undefined;
  /** There was a production template when we first looked, so its absence is an outage. */
  hadProd = false;
  prodAbsentSince: number | undefined;
  previous: { ref: MoRef; version?: string } | undefined;
  gapMs: number | undefined;
  uploadedBytes = 0;
  uploadAttempts = 0;
  /** An import was begun in this run, so a temp VM may be left of it. */
  importBegan = false;
  imported: { entity: MoRef; disks: number } | undefined;
  restored = false;
  renamed: 'swapped' | 'promoted' | undefined;
  verified = false;
  rollbackDestroyed = false;
  keptUntil: number | undefined;
  /** The previous template was kept once; its time isn't begun anew. */
  hasKept = false;
  /** The temp VM that was looked over and finished in this run, by reference value. */
  checked: string | undefined;
  failure: KnownFailure | undefined;
  result: TemplateSwapResult | undefined;
  readonly adopted: string[] = [];
  readonly givenUp: string[] = [];
  readonly unfit: string[] = [];

  constructor(request: TemplateSwapRequest) {
    this.request = request;
  }

  get names(): ReturnType<typeof swapNames> {
    return (
      this.validated?.names ??
      swapNames(this.request.template.prodName, this.request.template.tempPrefix, this.request.template.rollbackPrefix)
    );
  }

  /** The template's path as people see it. */
  get path(): string {
    return `${folderPath(this.request.placement)}/${this.request.template.prodName}`;
  }

  get options(): ValidatedSwap['request']['options'] {
    if (this.validated === undefined) throw new Error('options are known after validation');
    return this.validated.request.options;
  }

  get target(): TemplateSwapStatus['target'] {
    return { version: this.request.target.version, sha256: this.request.source.sha256.toLowerCase() };
  }

  get scope(): SwapScope {
    if (this.placement === undefined) throw new Error('the folder is known after preflight');
    return {
      vcenter: this.request.vcenter,
      folder: this.placement.folder,
      names: this.names,
      target: this.target,
      opId: operationId(),
    };
  }

  get wanted(): Wanted {
    const { createIfMissing, replaceUnknownVersion, strictOwnership, recovery } = this.options;
    return {
      prodName: this.names.prod,
      version: this.target.version,
      sha256: this.target.sha256,
      opId: operationId(),
      createIfMissing,
      replaceUnknownVersion,
      strictOwnership,
      recovery,
      ...(this.imported === undefined ? {} : { imported: this.imported.entity.value }),
      ...(this.previous === undefined ? {} : { previous: this.previous.ref.value }),
      ...(this.checked === undefined ? {} : { checked: this.checked }),
      unfit: this.unfit,
      adopted: this.adopted,
      givenUp: this.givenUp,
      leaseTimeoutS: defaultLeaseTimeoutS,
    };
  }

  /** Moves on to a phase: step list, progress, attributes and the Web UI's details follow. */
  enter(phase: Phase, message?: string): void {
    const now = Date.now();
    this.#timings.set(this.phase, (this.#timings.get(this.phase) ?? 0) + now - this.#phaseSince);
    if (phase !== this.phase) this.#phaseSince = now;
    this.phase = phase;
    this.message = message ?? factsOf(phase).says;
    this.#advanceSteps(phase);
    this.publish();
  }

  /** Publishes what a list shows and what the details pane says; costs an event only when an attribute changed. */
  publish(): void {
    this.#publisher.publish({
      kind: 'template-swap',
      vm: this.path,
      source: this.request.vcenter,
      target: this.target.version,
      status: this.phase,
      waitingFor: factsOf(this.phase).waitingFor ?? null,
      conflict: this.conflict?.code ?? null,
      atRisk: this.prodAbsentSince === undefined ? null : true,
      deadline: this.deadline === undefined ? null : new Date(this.deadline),
      progress: this.#progress,
    });
    setCurrentDetails(detailsOf(this.status()));
  }

  warn(...warnings: readonly string[]): void {
    for (const warning of warnings) this.#warnings.add(warning);
  }

  /** Takes in what was seen; notices when the production name is gone. */
  saw(observation: Observation): void {
    this.observed = observation;
    this.warn(...observation.warnings);
    if (observation.prod !== undefined) {
      this.hadProd = true;
      if (this.prodAbsentSince !== undefined) this.gapMs ??= Date.now() - this.prodAbsentSince;
      this.prodAbsentSince = undefined;
    } else if (observation.rollback !== undefined || this.hadProd) {
      this.prodAbsentSince ??= Date.now();
    }
  }

  markStep(id: StepId, state: StepState): void {
    this.#stepStates.set(id, state);
  }

  /** Goes on with another target; forgets what belongs to the one that was given up. */
  aimAt(request: TemplateSwapRequest, validated: ValidatedSwap): void {
    this.request = request;
    this.validated = validated;
    this.source = undefined;
    this.imported = undefined;
    this.renamed = undefined;
    this.verified = false;
    this.gapMs = undefined;
    this.rollbackDestroyed = false;
    this.keptUntil = undefined;
    this.hasKept = false;
    this.checked = undefined;
    this.result = undefined;
    this.#stepStates.clear();
    this.#stepStates.set('preflight', 'done');
    this.#activeStep = undefined;
    this.#progress = 0;
  }

  conclude(outcome: SwapOutcome, extra: Partial<TemplateSwapResult> = {}): TemplateSwapResult {
    const prod = this.observed?.prod;
    this.result = {
      outcome,
      ...(prod === undefined ? {} : { prod: versionRef(prod.ref, prod.version) }),
      ...(this.previous === undefined ? {} : { previous: versionRef(this.previous.ref, this.previous.version) }),
      ...(this.gapMs === undefined ? {} : { gapMs: this.gapMs }),
      uploadedBytes: this.uploadedBytes,
      uploadAttempts: this.uploadAttempts,
      rollbackDestroyed: this.rollbackDestroyed,
      warnings: [...this.#warnings],
      timings: Object.fromEntries(this.#timings),
      ...extra,
    };
    return this.result;
  }

  outcome(): SwapOutcome {
    if (this.renamed === undefined) return 'noop';
    if (this.restored) return 'restored-then-swapped';
    if (this.imported === undefined && this.renamed === 'promoted') return 'promoted';
    return this.previous === undefined ? 'created' : 'swapped';
  }

  status(): TemplateSwapStatus {
    const { waitingFor } = factsOf(this.phase);
    return {
      kind: 'template-swap',
      id: workflowInfo().workflowId,
      status: this.phase,
      reason: this.failure?.details?.code ?? this.conflict?.code ?? this.phase,
      message: this.message,
      since: new Date(this.#phaseSince).toISOString(),
      ...(this.deadline === undefined ? {} : { deadline: new Date(this.deadline).toISOString() }),
      ...(waitingFor === undefined ? {} : { waitingFor }),
      progress: this.#progress,
      ...(this.conflict === undefined ? {} : { conflict: this.conflict }),
      steps: this.#steps(),
      next: this.#next(),
      ...(this.row === undefined ? {} : { row: this.row }),
      target: this.target,
      names: this.names,
      ...(this.observed === undefined ? {} : { observed: this.observed }),
      ...(this.uploadAttempts === 0 ? {} : { uploadAttempt: this.uploadAttempts }),
      ...(this.prodAbsentSince === undefined ? {} : { prodAbsentSince: new Date(this.prodAbsentSince).toISOString() }),
      ...(this.gapMs === undefined ? {} : { gapMs: this.gapMs }),
      ...(this.keptUntil === undefined ? {} : { keptUntil: new Date(this.keptUntil).toISOString() }),
      ...(this.previous === undefined ? {} : { previous: versionRef(this.previous.ref, this.previous.version) }),
      warnings: [...this.#warnings],
      ...(this.result === undefined ? {} : { result: this.result }),
      ...(this.failure === undefined ? {} : { failure: this.failure }),
    };
  }

  #advanceSteps(phase: Phase): void {
    const { step, progress } = factsOf(phase);
    this.#progress = Math.max(this.#progress, progress ?? 0);
    if (step !== undefined && step !== this.#activeStep) {
      this.#settleActive('done');
      this.#activeStep = step === 'none' ? undefined : step;
      if (step !== 'none') this.#stepStates.set(step, 'active');
    }
    if (isEnd(phase)) this.#settleActive(phase === 'Completed' || phase === 'Undone' ? 'done' : 'failed');
  }

  #settleActive(state: StepState): void {
    if (this.#activeStep !== undefined && this.#stepStates.get(this.#activeStep) === 'active')
      this.#stepStates.set(this.#activeStep, state);
  }

  #steps(): Step[] {
    const over = isEnd(this.phase);
    return steps.map(({ id, title }) => ({
      id,
      title,
      state: this.#stepStates.get(id) ?? (over ? 'skipped' : 'pending'),
    }));
  }

  #next(): string[] {
    const name = this.request.template.prodName;
    if (this.conflict !== undefined) {
      return this.conflict.options.map(({ decision }) => `vmflow template resolve ${name} --decision ${decision}`);
    }
    switch (this.phase) {
      case 'WaitingForSpace':
        return [`vmflow template retry ${name}`, `vmflow template cancel ${name}`];
      case 'Keeping':
        return [`vmflow template rollback ${name}`, `vmflow template prune ${name}`];
      case 'Completed':
      case 'Undone':
      case 'Cancelled':
        return [];
      case 'Failed':
        return [`vmflow template update ${name} --ova FILE|URL --version ${this.target.version}`];
      default:
        return [`vmflow template watch ${name}`, `vmflow template cancel ${name}`];
    }
  }
}

function versionRef(ref: MoRef, version: string | undefined): { moRef: string; version?: string } {
  return { moRef: ref.value, ...(version === undefined ? {} : { version }) };
}
