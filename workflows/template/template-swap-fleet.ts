import {
  CancellationScope,
  ParentClosePolicy,
  defineQuery,
  executeChild,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { TemplateActivities } from '../contracts/activities.ts';
import { folderPath, templateSwapId } from '../contracts/ids.ts';
import { messages } from '../contracts/messages.ts';
import { memoOf } from '../contracts/template-memo.ts';
import type {
  FleetItemResult,
  TemplateSwapFleetRequest,
  TemplateSwapFleetResult,
  TemplateSwapFleetStatus,
  TemplateSwapRequest,
} from '../contracts/template.ts';
import { longestAttribute, searchKeys } from '../contracts/attributes.ts';
import { fleetRequestProblem } from '../domain/template/shape.ts';
import { cutToBytes } from '../domain/text.ts';
import { Publisher } from '../shared/attributes.ts';
import { knownFailure } from '../shared/failures.ts';
import { control, oneLine } from '../shared/proxies.ts';
import { now } from '../shared/now.ts';
import { budgets } from './budgets.ts';
import { requestInvalid } from './failures.ts';
import { fleetDetails } from './fleet-details.ts';
import { templateSwap } from './template-swap.ts';

/** Children that run side by side when nothing is said. */
const defaultParallel = 2;

/** Swaps several templates, usually one per failure domain. One failure does not stop the others unless `failFast`. */
export async function templateSwapFleet(request: TemplateSwapFleetRequest): Promise<TemplateSwapFleetResult> {
  const problem = fleetRequestProblem(request);
  if (problem !== undefined) throw requestInvalid('the request to update templates', problem);
  return await new Fleet(request).run();
}

type FleetStatus = 'Running' | 'Completed' | 'Failed' | 'Cancelled';

class Fleet {
  readonly #publisher = new Publisher();
  readonly #results = new Map<string, FleetItemResult>();
  readonly #running = new Set<string>();
  readonly #since = now();
  #request: TemplateSwapFleetRequest;
  #status: FleetStatus = 'Running';
  #next = 0;

  constructor(request: TemplateSwapFleetRequest) {
    this.#request = request;
    setHandler(defineQuery<TemplateSwapFleetStatus>(messages.status), () => this.#answer(), {
      description: 'How the swaps are going',
    });
  }

  async run(): Promise<TemplateSwapFleetResult> {
    try {
      this.#show('Running');
      this.#request = await control<TemplateActivities>(
        budgets.validate,
        'check the request',
      ).validateTemplateSwapFleet(this.#request);
      const width = Math.min(this.#request.maxParallel ?? defaultParallel, this.#request.templates.length);
      await Promise.all(Array.from({ length: width }, () => this.#lane()));
      this.#show('Completed');
      return this.#result();
    } catch (err) {
      this.#show(isCancellation(err) ? 'Cancelled' : 'Failed');
      throw err;
    }
  }

  async #lane(): Promise<void> {
    for (;;) {
      const template = this.#request.templates[this.#next++];
      if (template === undefined) return;
      const id = templateSwapId(template);
      const stopped = this.#request.failFast === true && this.#failed() > 0;
      this.#running.add(id);
      this.#show('Running');
      const item = stopped ? skipped(id, template) : await this.#swap(id, template);
      this.#running.delete(id);
      this.#results.set(id, item);
      this.#show('Running');
    }
  }

  async #swap(id: string, template: TemplateSwapRequest): Promise<FleetItemResult> {
    try {
      const result = await executeChild(templateSwap, {
        workflowId: id,
        args: [template],
        parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
        staticSummary: oneLine(
          `update template ${template.template.prodName} to ${template.target.version} on ${template.vcenter}`,
        ),
        memo: { ...memoOf(template) },
        typedSearchAttributes: [
          { key: searchKeys.kind, value: 'template-swap' },
          { key: searchKeys.vm, value: cutToBytes(pathOf(template), longestAttribute) },
        ],
      });
      return { id, template: pathOf(template), outcome: result.outcome, result };
    } catch (err) {
      if (isCancellation(err) && CancellationScope.current().consideredCancelled) throw err;
      return failed(id, template, err);
    }
  }

  #failed(): number {
    return [...this.#results.values()].filter((item) => item.outcome === 'failed').length;
  }

  #result(): TemplateSwapFleetResult {
    const order = this.#request.templates.map((template) => templateSwapId(template));
    const items = order.map((id) => this.#results.get(id)).filter((item) => item !== undefined);
    const swapped = items.filter((item) => item.result !== undefined).length;
    return { items, swapped, failed: items.filter((item) => item.outcome === 'failed').length };
  }

  #show(status: FleetStatus): void {
    this.#status = status;
    this.#publisher.publish({ kind: 'template-swap-fleet', status });
    setCurrentDetails(fleetDetails(this.#answer()));
  }

  #answer(): TemplateSwapFleetStatus {
    const total = this.#request.templates.length;
    return {
      kind: 'template-swap-fleet',
      id: workflowInfo().workflowId,
      status: this.#status,
      reason: this.#status,
      message: `${this.#results.size} of ${total} done, ${this.#failed()} failed`,
      since: this.#since,
      progress: total === 0 ? 1 : this.#results.size / total,
      steps: this.#request.templates.map((template) => this.#step(template)),
      next: [...this.#running].map((id) => `vmflow template watch ${id}`),
      items: [...this.#results.values()],
      running: [...this.#running],
    };
  }

  #step(template: TemplateSwapRequest): TemplateSwapFleetStatus['steps'][number] {
    const id = templateSwapId(template);
    const item = this.#results.get(id);
    const title = `${pathOf(template)} to ${template.target.version}`;
    if (item === undefined) return { id, title, state: this.#running.has(id) ? 'active' : 'pending' };
    if (item.outcome === 'skipped') return { id, title, state: 'skipped' };
    return {
      id,
      title,
      state: item.error === undefined ? 'done' : 'failed',
      detail: item.error?.message ?? item.outcome,
    };
  }
}

function pathOf(template: TemplateSwapRequest): string {
  return `${folderPath(template.placement)}/${template.template.prodName}`;
}

function skipped(id: string, template: TemplateSwapRequest): FleetItemResult {
  return { id, template: pathOf(template), outcome: 'skipped' };
}

function failed(id: string, template: TemplateSwapRequest, err: unknown): FleetItemResult {
  const known =
    err instanceof Error && err.name === 'WorkflowExecutionAlreadyStartedError'
      ? {
          type: 'Conflict',
          message: `${pathOf(template)} is already being updated by another run`,
          details: { code: 'SWAP_RUNNING' },
        }
      : knownFailure(err);
  return { id, template: pathOf(template), outcome: isCancellation(err) ? 'cancelled' : 'failed', error: known };
}
