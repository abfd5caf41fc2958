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
 * A session that lives. A vCenter that is away is waited for: the attempts of an import are for uploads that went wrong, and
 * nothing has been begun yet.
 */
export async function openWhenReachable(
  open: () => Promise<VSphereSession>,
  progress: ImportProgress,
  signal: AbortSignal,
): Promise<VSphereSession> {
  const until = Date.now() + longestOutageMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      const session = await openLiving(open, signal);
      progress.waitingFor = undefined;
      return session;
    } catch (err) {
      const code = toVSphereOperationError(err)?.code ?? '';
      if (!unanswered.includes(code) || Date.now() + pauseMs > until) throw err;
    }
    progress.waitingFor = 'vcenter';
    await pause(pauseMs, signal);
  }
}

async function openLiving(open: () => Promise<VSphereSession>, signal: AbortSignal): Promise<VSphereSession> {
  const session = await open();
  try {
    await session.currentTime({ signal });
    return session;
  } catch (err) {
    await session.close();
    throw err;
  }
}
