import type { FaultInfo } from '../../workflows/contracts/failures.ts';
import { VimFault, VSphereError } from './faults.ts';

const longest = 500;

/**
 * Text that may leave the worker: device URLs are capabilities and query strings carry signatures, so a URL keeps scheme and
 * host only; cookies and session keys go.
 */
export function withoutSecrets(text: string): string {
  const clean = text
    .replace(/\b(https?:\/\/)(?:[^\s/"'<>@]*@)?([^\s/"'<>?#]+)[^\s"'<>]*/gi, '$1$2/…')
    .replace(/vmware_soap_session[^\s;]*/gi, 'vmware_soap_session=…')
    .replace(/session\[[^\]]*\]\S*/gi, 'session[…]');
  return clean.length <= longest ? clean : `${clean.slice(0, longest - 1)}…`;
}

/** What a failure of vCenter looks like in failure details: fault type, method, object; never a secret. */
export function toFaultInfo(error: unknown): FaultInfo {
  if (error instanceof VimFault) {
    const ref = error.moRef === undefined ? undefined : withoutSecrets(error.moRef);
    return {
      kind: error.kind,
      faultType: error.faultType,
      message: withoutSecrets(error.message),
      method: error.method,
      ...(ref === undefined ? {} : error.kind === 'task-error' ? { taskRef: ref } : { moRef: ref }),
    };
  }
  if (error instanceof VSphereError) {
    return { faultType: error.code, ...error.info, message: withoutSecrets(error.info.message ?? error.message) };
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { kind: 'transport', message: withoutSecrets(message) };
}
