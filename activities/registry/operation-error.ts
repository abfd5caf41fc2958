import type { OperationError } from '../failures.ts';
import { httpOperationError, type Verdict } from '../http-verdict.ts';
import { RegistryError, type RegistryErrorReason } from './port.ts';

const verdicts: Readonly<Record<RegistryErrorReason, Verdict>> = {
  Unauthorized: {
    type: 'Unauthenticated',
    code: 'REGISTRY_AUTH',
    next: 'check the credentials of this registry in vmflow.yaml',
  },
  Forbidden: {
    type: 'Forbidden',
    code: 'REGISTRY_FORBIDDEN',
    next: 'allow the account of vmflow to pull and delete in the repositories of the VMs',
  },
  DeletionDisabled: {
    type: 'Refused',
    code: 'REGISTRY_DELETION_DISABLED',
    next: 'turn deletion on in the registry (of distribution: storage.delete.enabled)',
  },
  TooManyRequests: { type: 'Throttled', code: 'REGISTRY_THROTTLED' },
  Invalid: { type: 'InvalidRequest', code: 'REGISTRY_NAME' },
  Untrusted: {
    type: 'Unauthenticated',
    code: 'REGISTRY_TLS',
    next: 'check url and tls of this registry in vmflow.yaml',
  },
  Timeout: { type: 'Timeout', code: 'REGISTRY_TIMEOUT' },
  Unavailable: { type: 'Unavailable', code: 'REGISTRY_UNAVAILABLE' },
  // Retried: what stands in front of a registry answers like this while the registry is away.
  Unexpected: {
    type: 'Unavailable',
    code: 'REGISTRY_ODD',
    next: 'check that url in vmflow.yaml is that of a registry',
  },
};

/** What a failure of a registry means in the terms of the contract; undefined for errors of others. */
export function toRegistryOperationError(err: unknown): OperationError | undefined {
  if (!(err instanceof RegistryError)) return undefined;
  return httpOperationError(err, verdicts[err.reason]);
}
