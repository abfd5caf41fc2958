import { AgentGone, type Life } from './life.ts';
import type { AgentSettings } from './settings.ts';

interface QueueDeps {
  readonly life: Life;
  readonly settings: AgentSettings;
  /** One piece of work, on the newest object. `idle`: there was none; a number: look again after these milliseconds. */
  readonly work: (key: string) => Promise<'idle' | 'again' | number>;
  /** What somebody else than the agent decides; a failed piece of work is tried anew at once only when this changes. */
  readonly wishOf: (key: string) => string;
  readonly onFailure: (key: string, error: Error) => Promise<void>;
}

/** One piece of work at a time for each key; failed ones again with growing pauses, and then only when something changes. */
export interface Queue {
  /** @param force also where nothing has changed since it failed */
  look(key: string, force?: boolean): void;
  isBusy(key: string): boolean;
}

interface Line {
  isBusy: boolean;
  isDirty: boolean;
  failures: number;
  failedWish: string | undefined;
  cancelTimer: () => void;
}

export function createQueue({ life, settings, work, wishOf, onFailure }: QueueDeps): Queue {
  const lines = new Map<string, Line>();

  function lineOf(key: string): Line {
    const line = lines.get(key) ?? {
      isBusy: false,
      isDirty: false,
      failures: 0,
      failedWish: undefined,
      cancelTimer: () => undefined,
    };
    lines.set(key, line);
    return line;
  }

  function look(key: string, force = false): void {
    const line = lineOf(key);
    if (!force && line.failedWish !== undefined && line.failedWish === wishOf(key)) return;
    line.isDirty = true;
    if (!line.isBusy) void serve(key, line);
  }

  async function serve(key: string, line: Line): Promise<void> {
    line.isBusy = true;
    try {
      while (line.isDirty) {
        line.isDirty = false;
        line.cancelTimer();
        await serveOnce(key, line);
      }
    } catch (error) {
      if (!(error instanceof AgentGone)) throw error;
    } finally {
      line.isBusy = false;
    }
  }

  async function serveOnce(key: string, line: Line): Promise<void> {
    const wish = wishOf(key);
    try {
      await life.pass();
      const answer = await work(key);
      line.failures = 0;
      line.failedWish = undefined;
      if (answer === 'again') line.isDirty = true;
      else if (answer !== 'idle') line.cancelTimer = life.after(answer, () => look(key, true));
    } catch (error) {
      if (error instanceof AgentGone) throw error;
      await failed(key, line, wish, error as Error);
    }
  }

  async function failed(key: string, line: Line, wish: string, error: Error): Promise<void> {
    line.failures = wish === line.failedWish ? line.failures + 1 : 1;
    line.failedWish = wish;
    await onFailure(key, error);
    line.isDirty = wishOf(key) !== wish;
    if (line.isDirty || line.failures > settings.retries) return;
    const pauseMs = Math.min(settings.retryMaxMs, settings.retryFirstMs * 2 ** (line.failures - 1));
    line.cancelTimer = life.after(pauseMs, () => look(key, true));
  }

  return { look, isBusy: (key) => lines.get(key)?.isBusy === true };
}
