import { Context, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { FailureType } from '../../../workflows/contracts/failures.ts';
import type {
  CopyPassActivities,
  CopyTransferActivities,
  EntryActivities,
} from '../../../workflows/contracts/batch-activities.ts';
import type { SourceVm } from '../../support/entry-world.ts';

export type ActivityName = keyof (EntryActivities & CopyPassActivities & CopyTransferActivities);

export interface FailureRule {
  /** How often; absent: until it is healed. */
  readonly times?: number;
  readonly type?: FailureType;
  readonly message?: string;
  /** The far side has done it, and its answer is lost. */
  readonly afterwards?: boolean;
}

interface Rule {
  readonly activity: ActivityName;
  readonly uuid: string;
  left: number;
  /** Around the call; answers what it answers. */
  readonly apply: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A call that waits until the test lets it go on. */
export interface Hold {
  readonly arrived: Promise<void>;
  release(): void;
}

/** What goes wrong, or takes long, at the far sides. Nothing unless a test says so. */
export class Script {
  #rules: Rule[] = [];
  #holds: Hold[] = [];

  /** Answers how to end it. */
  fails(vm: SourceVm, activity: ActivityName, rule: FailureRule = {}): () => void {
    const { times = Infinity, type = 'Unavailable', message = `${activity} is refused`, afterwards = false } = rule;
    return this.#add(vm, activity, times, async (work) => {
      if (afterwards) await work();
      throw ApplicationFailure.create({ type, message, details: [{ code: 'TEST' }] });
    });
  }

  /** Each call takes so long by the clock of the server, which goes on meanwhile: it is tried again when it is done. */
  takes(vm: SourceVm, activity: ActivityName, ms: number): () => void {
    return this.#add(vm, activity, Infinity, async (work) => {
      if (Context.current().info.attempt > 1) return await work();
      const message = `${activity} takes ${ms} ms`;
      throw ApplicationFailure.create({ type: 'Busy', message, nextRetryDelay: ms, details: [{ code: 'TEST' }] });
    });
  }

  /** The next call is really under way, and beats, until it is let go or cancelled; a stubborn one does its work all the same. */
  holds(vm: SourceVm, activity: ActivityName, { isStubborn = false } = {}): Hold {
    let arrive = (): void => undefined;
    let release = (): void => undefined;
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    const released = new Promise<void>((resolve) => (release = resolve));
    this.#add(vm, activity, 1, async (work) => {
      const beat = setInterval(() => heartbeat(), 20);
      arrive();
      try {
        await (isStubborn ? released : Promise.race([released, Context.current().cancelled]));
      } finally {
        clearInterval(beat);
      }
      return await work();
    });
    const hold = { arrived, release };
    this.#holds.push(hold);
    return hold;
  }

  /** The call of an activity for this VM, with all that is to happen to it. */
  async run<T>(activity: ActivityName, uuid: string, work: () => T | Promise<T>): Promise<T> {
    const rule = this.#rules.find((one) => one.activity === activity && one.uuid === uuid && one.left > 0);
    if (rule === undefined) return await work();
    rule.left -= 1;
    return await rule.apply(async () => await work());
  }

  /** From now on everything goes well, and what was held goes on. */
  clear(): void {
    this.#rules = [];
    for (const hold of this.#holds.splice(0)) hold.release();
  }

  #add(vm: SourceVm, activity: ActivityName, times: number, apply: Rule['apply']): () => void {
    const rule: Rule = { activity, uuid: vm.record.uuid, left: times, apply };
    this.#rules.push(rule);
    return () => {
      this.#rules = this.#rules.filter((one) => one !== rule);
    };
  }
}
