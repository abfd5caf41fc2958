import { isFaultType } from './fault-hierarchy.ts';
import type { Reaction } from './faults.ts';
import { VimFault, VSphereError } from './faults.ts';
import { isReadOnly } from './read-only.ts';

/** One rule: the fault type (with its subtypes) and what to do; `when` narrows it further. */
interface Rule {
  readonly fault: string;
  readonly reaction: Reaction;
  readonly when?: (fault: VimFault) => boolean;
}

const rules = (reaction: Reaction, ...faults: string[]): readonly Rule[] =>
  faults.map((fault) => ({ fault, reaction }));

const outOfSpace = rules('retry-long', 'NoDiskSpace', 'InsufficientResourcesFault', 'DatastoreNotWritableOnHost');
const nameTaken: readonly Rule[] = [
  { fault: 'DuplicateName', reaction: 'reobserve' },
  { fault: 'InvalidArgument', reaction: 'reobserve', when: (fault) => fault.fields['invalidProperty'] === 'name' },
];
const leaseIsOver = ['Timedout', 'InvalidState', 'ManagedObjectNotFound'] as const;

/** What an import meets, in the call or as the error of its lease. */
const importing: readonly Rule[] = [
  ...rules('reobserve', 'DuplicateName', 'FileAlreadyExists', 'AlreadyExists'),
  ...outOfSpace,
  ...rules('permanent', 'NotSupported', 'VmConfigFault', 'OutOfBounds', 'InvalidName'),
];

/** Rules that hold for one method, before the general ones; the first match counts. Rows in the order of a swap. */
const byMethod: Readonly<Record<string, readonly Rule[]>> = {
  Login: rules('permanent', 'InvalidLogin', 'NoPermission', 'InvalidLocale'),
  CreateImportSpec: rules('permanent', 'InvalidArgument', 'OvfFault', 'InvalidDatastore', 'NotFound'),
  ImportVApp: importing,
  HttpNfcLease: importing,
  // The unit of repetition is the whole import.
  HttpNfcLeaseProgress: rules('retry', ...leaseIsOver),
  HttpNfcLeaseGetManifest: rules('retry', ...leaseIsOver),
  // After a lost answer the first call may have succeeded: look at the VM.
  HttpNfcLeaseComplete: [...rules('retry', 'Timedout', 'InvalidState'), ...rules('reobserve', 'ManagedObjectNotFound')],
  HttpNfcLeaseAbort: rules('gone', ...leaseIsOver),
  ReconfigVM_Task: rules('reobserve', 'InvalidVmConfig', 'NotSupported'),
  MarkAsTemplate: rules('reobserve', 'NotSupported', 'InvalidPowerState'),
  MarkAsVirtualMachine: rules('reobserve', 'NotSupported', 'InvalidPowerState'),
  Rename_Task: [...nameTaken, ...rules('permanent', 'InvalidName')],
  CloneVM_Task: nameTaken,
  Destroy_Task: [
    ...rules('gone', 'ManagedObjectNotFound'),
    ...rules('reobserve', 'InvalidPowerState'),
    ...rules('retry-long', 'ResourceInUse', 'InvalidState', 'MethodDisabled'),
  ],
};

/** Rules for every method. */
const general: readonly Rule[] = [
  ...rules('gone', 'ManagedObjectNotFound'),
  ...outOfSpace,
  ...rules(
    'retry',
    'InvalidState',
    'ResourceInUse',
    'ConcurrentAccess',
    'MethodDisabled',
    'HostCommunication',
    'HostConnectFault',
    'Timedout',
    'SystemError',
    'RequestCanceled',
    'FileLocked',
  ),
];

function reactionToFault(fault: VimFault, method: string): Reaction {
  // A subtype of NoPermission, but it says only that the session is gone.
  if (fault.faultType === 'NotAuthenticated') return 'relogin';
  const match = [...(byMethod[method] ?? []), ...general].find(
    (rule) => isFaultType(fault.faultType, rule.fault) && (rule.when?.(fault) ?? true),
  );
  return match?.reaction ?? 'permanent';
}

const retryableStatus = new Set([408, 429, 500, 502, 503, 504]);

function reactionToError(error: VSphereError, method: string): Reaction {
  const again = error.outcomeUnknown && !isReadOnly(method) ? 'reobserve' : 'retry';
  switch (error.code) {
    case 'TRANSPORT':
    case 'TIMEOUT':
      return again;
    case 'HTTP':
    case 'REST':
      return retryableStatus.has(error.info.httpStatus ?? 0) ? again : 'permanent';
    case 'LEASE_LOST':
    case 'LEASE_ERROR_UNKNOWN':
    case 'LEASE_MAPPING':
    case 'UPLOAD_IO':
    case 'UPLOAD_STALLED':
    case 'ESXI_UNREACHABLE':
      return 'retry';
    case 'INSUFFICIENT_SPACE':
      return 'retry-long';
    case 'TLS_CA':
    case 'TLS_THUMBPRINT':
    case 'TLS_INSECURE_FORBIDDEN':
    case 'NFC_TLS':
    case 'NOT_VCENTER':
    case 'AUTH':
    case 'PROTOCOL':
      return 'permanent';
  }
}

/**
 * How to react to a failure of a call. Decides on types only, never on texts; `method` is the vim25 method (`Rename_Task`),
 * `HttpNfcLease` for the error of a lease. Whatever is unknown is `permanent`: repeating it blindly may do harm.
 */
export function classify(error: unknown, method: string): Reaction {
  if (error instanceof VimFault) return reactionToFault(error, method);
  if (error instanceof VSphereError) return reactionToError(error, method);
  return 'permanent';
}
