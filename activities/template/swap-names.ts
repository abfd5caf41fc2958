import { Context } from '@temporalio/activity';
import { z } from 'zod';
import type { SwapNamesInput, SwapNamesResult, TemplateActivities } from '../../workflows/contracts/activities.ts';
import { sameWireName, toWireName } from '../../workflows/domain/template/names.ts';
import { OperationError } from '../failures.ts';
import { lastBeat, pause, whileBeating } from '../heartbeat.ts';
import { toFaultInfo } from '../vsphere/fault-info.ts';
import { isNameTaken, toVSphereOperationError } from '../vsphere/operation-error.ts';
import type { VSphereSession } from '../vsphere/port.ts';
import { onVCenter } from '../vsphere/on-vcenter.ts';
import type { TemplateDeps } from './deps.ts';
import { observeNames } from './observe.ts';
import { isOutcomeUnknown, nameOf, rename, renamedAt, reobserve, settled, stopSignal } from './rename.ts';
import { renameStep, type NextName, type OldName } from './rename-plan.ts';

/** How long the old template is offered its name back here, before the workflow plans anew. */
const giveBackForMs = 2_000;
const giveBackEveryMs = 100;

const beatSchema = z.object({ v: z.literal(1), phase: z.string(), absentSince: z.number().exactOptional() });

/** Both renames, the waits between them and the compensation, in one activity: no queue and no restart in between. */
export function createSwapNames(deps: TemplateDeps): TemplateActivities['swapNames'] {
  return async (input) => {
    return await onVCenter(deps, input.scope.vcenter, `swap template ${input.scope.names.prod}`, (session) =>
      new NameSwap(session, input).run(),
    );
  };
}

class NameSwap {
  readonly #session: VSphereSession;
  readonly #input: SwapNamesInput;
  #phase = 'reading names';
  /** When the production name went away, by our clock in epoch milliseconds. */
  #absentSince: number | undefined = lastBeat(beatSchema)?.absentSince;

  constructor(session: VSphereSession, input: SwapNamesInput) {
    this.#session = session;
    this.#input = input;
  }

  async run(): Promise<SwapNamesResult> {
    return await whileBeating(
      () => ({
        v: 1,
        phase: this.#phase,
        ...(this.#absentSince === undefined ? {} : { absentSince: this.#absentSince }),
      }),
      async () => {
        await this.#untilSwapped();
        const gapMs = await this.#gapMs();
        const observation = await observeNames(this.#session, this.#input.scope);
        return { observation, ...(gapMs === undefined ? {} : { gapMs }) };
      },
    );
  }

  /** Every round reads the two names anew: an answer that got lost is found out here. */
  async #untilSwapped(): Promise<void> {
    const { old, next } = this.#input;
    for (;;) {
      this.#phase = 'waiting for tasks of the two VMs';
      const never = new AbortController().signal;
      await Promise.all([
        settled(this.#session, old, this.#absentSince === undefined ? stopSignal() : never),
        settled(this.#session, next, never),
      ]);
      const [oldName, nextName] = await Promise.all([this.#oldName(), this.#nextName()]);
      switch (renameStep(oldName, nextName)) {
        case 'done':
          return;
        case 'step-aside':
          if (await this.#stepAside()) return;
          break;
        case 'step-in':
          if (await this.#stepIn()) return;
          break;
        case 'give-back':
          await this.#giveBack(reobserve(`the new template ${next.value} is no longer "${this.#input.from}"`));
          break;
        case 'plan-again':
          throw reobserve(`the names moved on (${old.value} ${oldName}, ${next.value} ${nextName})`);
        case 'foreign':
          throw this.#foreign(`somebody renamed ${next.value} or ${old.value} (${oldName}, ${nextName})`);
      }
    }
  }

  /** Step A, and at its success step B at once. True when both are done; false: read the names again. */
  async #stepAside(): Promise<boolean> {
    const { scope, old, aside } = this.#input;
    const [inTheWay, prod] = await Promise.all([
      this.#session.findChild(scope.folder, toWireName(aside)),
      this.#session.findChild(scope.folder, toWireName(scope.names.prod)),
    ]);
    if (inTheWay !== undefined) throw reobserve(`"${aside}" is taken by ${inTheWay.value}`);
    if (prod?.value !== old.value) throw reobserve(`"${scope.names.prod}" is no longer ${old.value}`);
    // An earlier attempt's heartbeat may tell of a gap that is closed again.
    this.#absentSince = undefined;
    await this.#session.currentTime();
    // The last moment to stop: once the first rename is on its way, the swap is finished.
    if (stopSignal().aborted) await Context.current().cancelled;
    this.#phase = `renaming ${scope.names.prod} to ${aside}`;
    const sentAt = Date.now();
    try {
      await rename(this.#session, old, aside);
    } catch (err) {
      if (isOutcomeUnknown(err)) {
        this.#absentSince ??= sentAt;
        return false;
      }
      if (isNameTaken(err)) return false;
      throw err;
    }
    this.#absentSince = Date.now();
    return await this.#stepIn();
  }

  /** Step B. No other call stands between step A's success and this request. */
  async #stepIn(): Promise<boolean> {
    const { scope, next } = this.#input;
    this.#phase = `renaming ${next.value} to ${scope.names.prod}`;
    try {
      await rename(this.#session, next, scope.names.prod);
    } catch (err) {
      if (isOutcomeUnknown(err)) return false;
      if (isNameTaken(err)) return await this.#nameTaken(err);
      await this.#giveBack(err);
    }
    return true;
  }

  /** The name is in use: by the new template itself (an answer got lost), or by an intruder. */
  async #nameTaken(err: unknown): Promise<boolean> {
    const { scope, next } = this.#input;
    const holder = await this.#session.findChild(scope.folder, toWireName(scope.names.prod));
    if (holder === undefined || holder.value === next.value) return false;
    throw new OperationError(
      'Conflict',
      `somebody created "${scope.names.prod}" (${holder.value}) while it was being swapped; old and new template are intact`,
      {
        code: 'PROD_RECREATED',
        primary: { ...toFaultInfo(err), moRef: holder.value },
        retryable: false,
        next: `rename or remove ${holder.value}, then decide retry`,
      },
    );
  }

  /** Compensation: step B was refused for certain, so the old template gets its name back, with patience. */
  async #giveBack(primary: unknown): Promise<never> {
    const { scope, old } = this.#input;
    this.#phase = `giving ${scope.names.prod} back to ${old.value}`;
    const until = Date.now() + giveBackForMs;
    for (;;) {
      try {
        await rename(this.#session, old, scope.names.prod);
        break;
      } catch (secondary) {
        const isBack = await this.#isBack().catch(() => false);
        if (isBack) break;
        if (Date.now() > until) throw this.#absent(primary, secondary);
        await pause(giveBackEveryMs, new AbortController().signal);
      }
    }
    this.#absentSince = undefined;
    throw rolledBack(primary, scope.names.prod);
  }

  async #isBack(): Promise<boolean> {
    await settled(this.#session, this.#input.old, new AbortController().signal);
    return (await this.#oldName()) === 'prod';
  }

  #absent(primary: unknown, secondary: unknown): OperationError {
    const { names } = this.#input.scope;
    const text = `no object has the name "${names.prod}": the second rename failed (${messageOf(primary)}) and so did giving the name back (${messageOf(secondary)}); it is tried again at once`;
    return new OperationError('Unavailable', text, {
      code: 'PROD_ABSENT',
      primary: toFaultInfo(primary),
      secondary: toFaultInfo(secondary),
      ...(this.#absentSince === undefined ? {} : { facts: { absentSince: this.#absentSince } }),
      // The workflow takes over: it shows the outage and plans anew by what it sees.
      retryable: false,
    });
  }

  #foreign(message: string): OperationError {
    const { old, next } = this.#input;
    return new OperationError('Conflict', `${message}; nothing was changed by this step`, {
      code: 'FOREIGN_RENAME',
      primary: { kind: 'lookup', moRef: next.value, message },
      facts: { old: old.value, new: next.value },
      retryable: false,
    });
  }

  /** The server's own times, so that neither our polling nor a crash between the renames falsifies them; else ours. */
  async #gapMs(): Promise<number | undefined> {
    const ours = this.#absentSince === undefined ? undefined : Date.now() - this.#absentSince;
    const { old, next } = this.#input;
    const [left, taken] = await Promise.all([renamedAt(this.#session, old), renamedAt(this.#session, next)]);
    return left === undefined || taken === undefined || taken < left ? ours : taken - left;
  }

  async #oldName(): Promise<OldName> {
    const name = await nameOf(this.#session, this.#input.old);
    if (name === undefined) return 'gone';
    if (sameWireName(name, toWireName(this.#input.scope.names.prod))) return 'prod';
    return sameWireName(name, toWireName(this.#input.aside)) ? 'aside' : 'other';
  }

  async #nextName(): Promise<NextName> {
    const name = await nameOf(this.#session, this.#input.next);
    if (name === undefined) return 'gone';
    if (sameWireName(name, toWireName(this.#input.scope.names.prod))) return 'prod';
    return sameWireName(name, toWireName(this.#input.from)) ? 'from' : 'other';
  }
}

/**
 * As final as the refusal itself. It ends the activity either way: each further try takes the name away for a moment, so the
 * workflow counts them, and hears a cancellation in between.
 */
function rolledBack(primary: unknown, prod: string): OperationError {
  const known = primary instanceof OperationError ? primary : toVSphereOperationError(primary);
  const type =
    known === undefined || (known.retryable && known.type === 'Unauthenticated') ? 'Unavailable' : known.type;
  return new OperationError(type, `swap rolled back: ${messageOf(primary)}; "${prod}" is the template it was before`, {
    code: 'SWAP_ROLLED_BACK',
    primary: known?.details.primary ?? toFaultInfo(primary),
    ...(known?.details.next === undefined ? {} : { next: known.details.next }),
    retryable: false,
    cause: primary,
  });
}

function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
