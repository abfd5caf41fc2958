import { ApplicationFailure, condition, defineSignal, defineUpdate, log, setHandler } from '@temporalio/workflow';
import type { Conflict, Resolution } from '../contracts/conflict.ts';
import { messages } from '../contracts/messages.ts';

/**
 * Where conflicts wait for a person. The update `resolve` (validated) and the signal `resolve` (a stale one is ignored and
 * counted) go through one handler.
 */
export class ConflictDesk {
  #open: Conflict | undefined;
  #resolution: Resolution | undefined;
  #ignored = 0;

  get open(): Conflict | undefined {
    return this.#open;
  }

  /** How many signals named a conflict or decision that wasn't there. */
  get ignored(): number {
    return this.#ignored;
  }

  /** `answer`: what the update waits for and tells, instead of a plain confirmation. */
  listen<Answer = string>(answer?: (resolution: Resolution) => Promise<Answer>): void {
    const decide = (resolution: Resolution): string | Promise<Answer> => {
      const accepted = this.#accept(resolution);
      return answer === undefined ? accepted : answer(resolution);
    };
    setHandler(defineUpdate<Answer | string, [Resolution]>(messages.resolve), decide, {
      description: 'Decide the open conflict: { conflictId, decision, by, reason? }',
      validator: (resolution: Resolution) => {
        const problem = this.#problemWith(resolution);
        if (problem !== undefined)
          throw ApplicationFailure.nonRetryable(problem, 'Refused', { code: 'RESOLVE_REFUSED' });
      },
    });
    setHandler(defineSignal<[Resolution]>(messages.resolve), (resolution) => this.#onSignal(resolution), {
      description: 'Decide the open conflict: { "conflictId": "…", "decision": "…", "by": "…" }',
    });
  }

  /** Waits until a person decides; undefined when nobody did in time. Without a time: until somebody does. */
  async decision(conflict: Conflict, timeoutMs?: number, summary = ''): Promise<Resolution | undefined> {
    this.#open = conflict;
    this.#resolution = undefined;
    const isDecided = (): boolean => this.#resolution !== undefined;
    try {
      if (timeoutMs === undefined) await condition(isDecided);
      else await condition(isDecided, timeoutMs, { summary });
      return this.#resolution;
    } finally {
      this.#open = undefined;
    }
  }

  #accept(resolution: Resolution): string {
    this.#resolution = resolution;
    return `${resolution.decision} accepted for ${resolution.conflictId}`;
  }

  #onSignal(resolution: Resolution): void {
    const problem = this.#problemWith(resolution);
    if (problem === undefined) {
      this.#accept(resolution);
      return;
    }
    this.#ignored += 1;
    log.warn('signal resolve ignored', { problem });
  }

  #problemWith(resolution: Partial<Resolution> | undefined): string | undefined {
    const open = this.#open;
    if (open === undefined || this.#resolution !== undefined) return 'there is no open conflict';
    if (resolution?.conflictId !== open.id)
      return `the open conflict is ${open.id}, not ${String(resolution?.conflictId)}`;
    const choices = open.options.map((option) => option.decision);
    if (typeof resolution.decision !== 'string' || !choices.includes(resolution.decision)) {
      return `"${String(resolution.decision)}" is no choice for ${open.id}; choose one of ${choices.join(', ')}`;
    }
    if (typeof resolution.by !== 'string' || resolution.by === '') return 'say who decides: by';
    return undefined;
  }
}
