import { isCancellation, sleep } from '@temporalio/workflow';
import { knownFailure } from './failures.ts';
import { oneLine } from './proxies.ts';

/** How long what was refused for good, such as a missing right, is left alone until it is tried again. */
const troublePause = '30s';

/**
 * Does this, however often it fails: what a far side refuses may be allowed by somebody later, and nothing is lost until then.
 * `onTrouble` hears why it can't go on, and undefined once it can. Only a cancellation ends it.
 */
export async function insist<T>(work: () => Promise<T>, onTrouble: (message: string | undefined) => void): Promise<T> {
  let hasFailed = false;
  try {
    for (;;) {
      try {
        return await work();
      } catch (err) {
        if (isCancellation(err)) throw err;
        const { message } = knownFailure(err);
        hasFailed = true;
        onTrouble(message);
        await sleep(troublePause, { summary: oneLine(`again after: ${message}`) });
      }
    }
  } finally {
    if (hasFailed) onTrouble(undefined);
  }
}
