import {
  allHandlersFinished,
  condition,
  defineQuery,
  defineUpdate,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { HibernationRequestActivities, HibernationRequestWaits } from '../contracts/activities.ts';
import type {
  HibernationAnswer,
  RequestHibernationInput,
  RequestHibernationResult,
  RequestHibernationStatus,
} from '../contracts/hibernation-request.ts';
import { messages } from '../contracts/messages.ts';
import type { Step, StepState } from '../contracts/status.ts';
import { isLine, isText, optional, shapeProblem } from '../domain/shape.ts';
import { Publisher } from '../shared/attributes.ts';
import { failure } from '../shared/failures.ts';
import { control, waiting } from '../shared/proxies.ts';
import { retry } from '../shared/retry.ts';

/** A person waits for the answer. */
const askBudget = {
  startToCloseTimeout: '15s',
  scheduleToCloseTimeout: '45s',
  retry: retry('250ms', '2s', 2, 5),
} as const;

/** Whoever carries it out has deadlines of its own. */
const waitBudget = { startToCloseTimeout: '1 year', heartbeatTimeout: '15s', retry: retry('250ms', '10s', 2) } as const;

/**
 * What a person asks of the VM of one Pod: that it sleeps in the registry, or runs again. The object that says so is made or
 * changed, then its end is waited for.
 */
export async function requestHibernation(input: RequestHibernationInput): Promise<RequestHibernationResult> {
  const request = new HibernationRequest(input);
  request.listen();
  try {
    return await request.run();
  } finally {
    await condition(allHandlersFinished);
  }
}

class HibernationRequest {
  readonly #input: RequestHibernationInput;
  readonly #publisher = new Publisher();
  readonly #startedAt = workflowInfo().startTime.toISOString();
  #asked: Promise<HibernationAnswer> | undefined;
  #answer: HibernationAnswer | undefined;
  #since = this.#startedAt;
  #result: RequestHibernationResult | undefined;

  constructor(input: RequestHibernationInput) {
    this.#input = input;
  }

  listen(): void {
    setHandler(defineQuery<RequestHibernationStatus>(messages.status), () => this.#status());
    setHandler(defineUpdate<HibernationAnswer>(messages.request), () => this.#told(), {
      description: 'Answers what came of the request, as soon as that is known',
    });
  }

  async run(): Promise<RequestHibernationResult> {
    const answer = await this.#ask();
    this.#publish();
    this.#result = await this.#endOf(answer);
    this.#since = new Date().toISOString();
    this.#publish();
    return this.#result;
  }

  /** Asking twice is asking once: the second is told that it is under way. */
  async #told(): Promise<HibernationAnswer> {
    const before = this.#answer;
    if (before === undefined) return await this.#ask();
    return 'uid' in before ? { ...before, outcome: 'in-progress' } : before;
  }

  #ask(): Promise<HibernationAnswer> {
    this.#asked ??= this.#askOnce();
    return this.#asked;
  }

  async #askOnce(): Promise<HibernationAnswer> {
    const problem = inputProblem(this.#input);
    if (problem !== undefined)
      throw failure('InvalidRequest', `can't ask for that: ${problem}`, { code: 'REQUEST_INVALID', step: 'input' });
    const { namespace, podName, desire, by } = this.#input;
    const who = by === undefined ? '' : `, asked by ${by}`;
    const activities = control<HibernationRequestActivities>(askBudget, `${desire} ${namespace}/${podName}${who}`);
    const answer = await activities.askHibernation(this.#input);
    this.#answer = answer;
    this.#since = new Date().toISOString();
    return answer;
  }

  async #endOf(answer: HibernationAnswer): Promise<RequestHibernationResult> {
    const { namespace, podName, desire } = this.#input;
    if (!('uid' in answer)) return { outcome: answer.outcome, message: unasked[answer.outcome] };
    const { uid, generation } = answer;
    const waits = waiting<HibernationRequestWaits>(waitBudget, `until ${namespace}/${podName} is ${ends[desire]}`);
    return await waits.awaitHibernation({ namespace, podName, desire, uid, generation });
  }

  #publish(): void {
    const { namespace, podName } = this.#input;
    const { status, waitingFor } = this.#status();
    this.#publisher.publish({
      kind: 'hibernation-request',
      vm: `${namespace}/${podName}`,
      status,
      waitingFor: waitingFor ?? null,
    });
  }

  #status(): RequestHibernationStatus {
    const { namespace, podName, desire } = this.#input;
    const result = this.#result;
    const isAsked = this.#answer !== undefined;
    const doing = isAsked ? `the VM of ${namespace}/${podName} is to be ${ends[desire]}` : 'asking the cluster';
    return {
      kind: 'hibernation-request',
      id: workflowInfo().workflowId,
      status: result?.outcome ?? (isAsked ? 'Waiting' : 'Asking'),
      reason: result?.outcome ?? (isAsked ? 'Waiting' : 'Asking'),
      message: result?.message ?? doing,
      since: this.#since,
      ...(isAsked && result === undefined ? { waitingFor: 'far-side' as const } : {}),
      steps: stepsOf(desire, isAsked, result),
      next: result === undefined && isAsked ? [`vmflow ${opposite[desire]} pod/${podName} -n ${namespace}`] : [],
      desire,
      podName,
    };
  }
}

const ends = { Hibernate: 'Hibernated', Wake: 'Active' } as const;
const opposite = { Hibernate: 'wake', Wake: 'hibernate' } as const;

const unasked = {
  'already-so': 'it was so already',
  'would-create': 'a CocoonHibernation would be created',
  'would-change': 'its CocoonHibernation would be changed',
} as const;

function stepsOf(
  desire: RequestHibernationInput['desire'],
  isAsked: boolean,
  result: RequestHibernationResult | undefined,
): Step[] {
  const title = desire === 'Hibernate' ? 'store memory and disks, remove the VM' : 'restore the VM, drop the snapshot';
  return [
    { id: 'Ask', title: 'ask for it in the cluster', state: isAsked ? 'done' : 'active' },
    { id: 'Wait', title, state: waitState(isAsked, result) },
  ];
}

function waitState(isAsked: boolean, result: RequestHibernationResult | undefined): StepState {
  if (result === undefined) return isAsked ? 'active' : 'pending';
  if (result.outcome === 'Hibernated' || result.outcome === 'Active') return 'done';
  return result.outcome === 'Failed' ? 'failed' : 'skipped';
}

/** Anybody can start a workflow with free-form JSON. */
function inputProblem(input: unknown): string | undefined {
  return shapeProblem(input, {
    namespace: isLine,
    podName: isLine,
    desire: (value) => value === 'Hibernate' || value === 'Wake',
    by: optional(isText),
    reason: optional(isText),
    dryRun: optional((value) => typeof value === 'boolean'),
  });
}
