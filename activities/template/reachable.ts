import { pause } from '../heartbeat.ts';
import { toVSphereOperationError } from '../vsphere/operation-error.ts';
import type { VSphereSession } from '../vsphere/port.ts';
import type { ImportProgress } from './upload-progress.ts';

/** A vCenter that is updated or restarted is back in less. */
const longestOutageMs = 60 * 60_000;
const firstPauseMs = 1_000;
const longestPauseMs = 15_000;

/** What says that nobody answers, rather than what the answer is. */
const unanswered = ['VCENTER_UNREACHABLE', 'VCENTER_TIMEOUT', 'VCENTER_HTTP'];

/**
 * Waits for a vCenter that is away: the attempts of an import are for uploads that went wrong, and nothing has been begun yet.
 */
export async function untilReachable(
  session: VSphereSession,
  progress: ImportProgress,
  signal: AbortSignal,
): Promise<void> {
  const until = Date.now() + longestOutageMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      await session.currentTime({ signal });
      progress.waitingFor = undefined;
      return;
    } catch (err) {
      const code = toVSphereOperationError(err)?.code ?? '';
      if (!unanswered.includes(code) || Date.now() + pauseMs > until) throw err;
    }
    progress.waitingFor = 'vcenter';
    await pause(pauseMs, signal);
  }
}
