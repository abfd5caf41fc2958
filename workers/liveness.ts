import type { NativeConnection } from '@temporalio/worker';
import type { Liveness } from '../activities/heartbeat.ts';

const askEveryMs = 2_000;
const answerWithinMs = 2_000;

/** Asks the server from time to time whether it is still there, once anybody wants to know. */
export class ConnectionLiveness implements Liveness {
  readonly #connection: NativeConnection;
  #lastContact = Date.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: NativeConnection) {
    this.#connection = connection;
  }

  silentForMs(): number {
    if (this.#timer === undefined) {
      this.#lastContact = Date.now();
      this.#timer = setInterval(() => void this.#ask(), askEveryMs).unref();
    }
    return Date.now() - this.#lastContact;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #ask(): Promise<void> {
    const askedAt = Date.now();
    try {
      await this.#connection.withDeadline(askedAt + answerWithinMs, () =>
        this.#connection.workflowService.getSystemInfo({}),
      );
      this.#lastContact = askedAt;
    } catch {
      // No answer is the answer: the silence grows.
    }
  }
}
