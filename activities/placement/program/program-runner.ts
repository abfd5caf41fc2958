import pLimit from 'p-limit';
import { byteLength } from '../../../workflows/domain/text.ts';
import { limits } from './limits.ts';
import { ProgramError } from './program-error.ts';
import { ProgramThread } from './program-thread-handle.ts';
import type { ProgramCall, ProgramProblem, ProgramResult } from './protocol.ts';

/** Runs placement programs, one after the other, in a thread that is kept warm and replaced when a program has harmed it. */
export class ProgramRunner {
  readonly #inTurn = pLimit(1);
  #thread: ProgramThread | undefined;

  /** Fails with `ProgramError` for what is the program's fault. */
  async run(call: ProgramCall): Promise<ProgramResult> {
    if (byteLength(call.source) > limits.sourceBytes)
      throw new ProgramError({ message: `it is longer than ${limits.sourceBytes / 1024} KiB` });
    return await this.#inTurn(() => this.#runNow(call));
  }

  /** What is wrong with a program before there is anything to place; undefined when nothing is. */
  async check(source: string): Promise<ProgramProblem | undefined> {
    try {
      await this.run({ source });
      return undefined;
    } catch (err) {
      if (err instanceof ProgramError) return err.problem;
      throw err;
    }
  }

  async close(): Promise<void> {
    await this.#thread?.end();
    this.#thread = undefined;
  }

  async #runNow(call: ProgramCall): Promise<ProgramResult> {
    const thread = (this.#thread ??= new ProgramThread());
    try {
      return await thread.run(call);
    } finally {
      if (thread.isGone && this.#thread === thread) this.#thread = undefined;
    }
  }
}
