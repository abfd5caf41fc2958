import type { Check } from '../../workflows/contracts/lookup.ts';
import type { OperationError } from '../failures.ts';
import type { TemplateDeps } from '../template/deps.ts';
import { toVSphereOperationError } from '../vsphere/operation-error.ts';
import { shownCertificate } from './fingerprint.ts';

/** More than this between the clocks makes certificates and ages doubtful. */
const skewLimitS = 60;

/** Reachable, trusted, allowed: one line each, stopping at the first that fails. */
export async function checkVCenter(deps: Pick<TemplateDeps, 'config' | 'vsphere'>, name: string): Promise<Check[]> {
  const endpoint = await deps.config.vcenter(name);
  const checks: Check[] = [await shownCertificate(endpoint.url)];
  try {
    return await deps.vsphere.withSession(endpoint, async (session) => {
      const serverTime = await session.currentTime();
      const skewS = Math.round(Math.abs(Date.parse(serverTime) - Date.now()) / 1000);
      checks.push({ name: 'log in', ok: true, detail: `${session.about.fullName} as ${endpoint.user}` });
      checks.push({ name: 'API', ok: true, detail: `version ${session.about.apiVersion}` });
      checks.push({
        name: 'clock',
        ok: skewS <= skewLimitS,
        detail: `${skewS} s apart from this worker`,
        ...(skewS <= skewLimitS ? {} : { remedy: 'synchronise the clocks', failure: 'wrong' as const }),
      });
      return checks;
    });
  } catch (err) {
    return [...checks, failedCheck(toVSphereOperationError(err), err)];
  }
}

function failedCheck(known: OperationError | undefined, err: unknown): Check {
  const detail = known?.message ?? (err instanceof Error ? err.message : String(err));
  const isAccess = known?.type === 'Unauthenticated' || known?.type === 'Forbidden';
  const failure = isAccess ? 'forbidden' : known?.type === 'InvalidRequest' ? 'wrong' : 'unreachable';
  return {
    name: 'log in',
    ok: false,
    detail,
    failure,
    remedy: remedyFor(known),
  };
}

/** A remedy that sends people to this very check says nothing here. */
function remedyFor(known: OperationError | undefined): string {
  const { code, next } = known?.details ?? {};
  if (next !== undefined && !next.includes('vmflow endpoint check')) return next;
  return code !== undefined && /TLS/.test(code)
    ? 'compare the fingerprint above with the one that the administrator of this vCenter knows, then set tls in vmflow.yaml'
    : 'check url, network and firewall between the workers and vCenter';
}
