import type { FailureType } from '../../workflows/contracts/failures.ts';
import { OperationError } from '../failures.ts';
import { toFaultInfo } from './fault-info.ts';
import { isFaultType } from './fault-hierarchy.ts';
import { VSphereError, VimFault } from './faults.ts';

interface Verdict {
  readonly type: FailureType;
  readonly code: string;
  readonly retryable?: boolean;
  readonly next?: string;
}

/** Fault type (and its subtypes) → failure. The first that fits holds; exact types stand before their bases. */
const faultVerdicts: readonly (readonly [string, Verdict])[] = [
  ['NotAuthenticated', { type: 'Unauthenticated', code: 'SESSION_LOST', retryable: true }],
  [
    'InvalidLogin',
    { type: 'Unauthenticated', code: 'AUTH', next: 'check user and password of this vCenter in vmflow.yaml' },
  ],
  ['PasswordExpired', { type: 'Unauthenticated', code: 'AUTH', next: 'renew the password of this vCenter' }],
  ['NoPermission', { type: 'Forbidden', code: 'NO_PERMISSION' }],
  ['ManagedObjectNotFound', { type: 'NotFound', code: 'GONE' }],
  ['NoDiskSpace', { type: 'NoSpace', code: 'INSUFFICIENT_SPACE' }],
  ['InsufficientResourcesFault', { type: 'NoSpace', code: 'INSUFFICIENT_RESOURCES' }],
  ['DatastoreNotWritableOnHost', { type: 'NoSpace', code: 'DATASTORE_NOT_WRITABLE' }],
  ['DuplicateName', { type: 'Conflict', code: 'NAME_TAKEN' }],
  ['FileAlreadyExists', { type: 'Conflict', code: 'FILE_EXISTS' }],
  ['TaskInProgress', { type: 'Busy', code: 'BUSY' }],
  ['ConcurrentAccess', { type: 'Busy', code: 'BUSY' }],
  ['ResourceInUse', { type: 'Busy', code: 'BUSY' }],
  ['FileLocked', { type: 'Busy', code: 'BUSY' }],
  ['MethodDisabled', { type: 'Busy', code: 'BUSY' }],
  ['InvalidPowerState', { type: 'Foreign', code: 'POWERED_ON' }],
  ['HostCommunication', { type: 'Unavailable', code: 'HOST_UNREACHABLE' }],
  ['InvalidHostState', { type: 'Unavailable', code: 'HOST_STATE' }],
  ['InvalidState', { type: 'Busy', code: 'INVALID_STATE' }],
  ['Timedout', { type: 'Timeout', code: 'TIMED_OUT' }],
  ['SystemError', { type: 'Unavailable', code: 'SYSTEM_ERROR' }],
  ['MethodNotFound', { type: 'InvalidRequest', code: 'SERVER_LACKS_METHOD' }],
  ['NotImplemented', { type: 'InvalidRequest', code: 'SERVER_LACKS_METHOD' }],
];

const refused: Verdict = { type: 'Refused', code: 'VCENTER_REFUSED' };
const trust = 'compare the fingerprint with vmflow endpoint check, then set tls in vmflow.yaml';

const errorVerdicts: Readonly<Record<VSphereError['code'], Verdict>> = {
  TRANSPORT: { type: 'Unavailable', code: 'VCENTER_UNREACHABLE', next: 'vmflow endpoint check' },
  TIMEOUT: { type: 'Timeout', code: 'VCENTER_TIMEOUT', next: 'vmflow endpoint check' },
  HTTP: { type: 'Unavailable', code: 'VCENTER_HTTP' },
  TLS_CA: { type: 'Unauthenticated', code: 'TLS_CA', next: trust },
  TLS_THUMBPRINT: { type: 'Unauthenticated', code: 'TLS_THUMBPRINT', next: trust },
  TLS_INSECURE_FORBIDDEN: { type: 'InvalidRequest', code: 'TLS_INSECURE_FORBIDDEN' },
  NFC_TLS: { type: 'Unauthenticated', code: 'NFC_TLS', next: trust },
  NOT_VCENTER: { type: 'InvalidRequest', code: 'NOT_VCENTER' },
  AUTH: { type: 'Unauthenticated', code: 'AUTH', next: 'check user and password of this vCenter in vmflow.yaml' },
  LEASE_LOST: { type: 'LeaseLost', code: 'LEASE_LOST' },
  LEASE_ERROR_UNKNOWN: { type: 'Unavailable', code: 'LEASE_ERROR_UNKNOWN' },
  LEASE_MAPPING: { type: 'Unavailable', code: 'LEASE_MAPPING' },
  UPLOAD_IO: { type: 'Unavailable', code: 'UPLOAD_IO' },
  UPLOAD_STALLED: { type: 'Timeout', code: 'UPLOAD_STALLED' },
  ESXI_UNREACHABLE: {
    type: 'Unavailable',
    code: 'ESXI_UNREACHABLE',
    next: 'open the way from the transfer workers to that host (name resolution, firewall)',
  },
  INSUFFICIENT_SPACE: { type: 'NoSpace', code: 'INSUFFICIENT_SPACE' },
  REST: { type: 'Unavailable', code: 'REST' },
  PROTOCOL: { type: 'Unavailable', code: 'PROTOCOL' },
};

/** Statuses of the REST interface that stay as they are until a person changes something. */
const restVerdicts: Readonly<Record<number, Verdict>> = {
  400: refused,
  401: errorVerdicts.AUTH,
  403: {
    type: 'Forbidden',
    code: 'NO_PERMISSION',
    next: 'grant the account AssignVSphereTag and the right to read tags',
  },
  404: { type: 'NotFound', code: 'REST_NOT_FOUND' },
};

/** What a failure of vCenter means in the terms of the contract; undefined for errors of others. */
export function toVSphereOperationError(err: unknown): OperationError | undefined {
  if (err instanceof VSphereError)
    return build(restVerdicts[err.code === 'REST' ? (err.info.httpStatus ?? 0) : 0] ?? errorVerdicts[err.code], err);
  if (err instanceof VimFault) return build(verdictOf(err), err);
  return undefined;
}

/** True when a rename was refused because the name is in use: DuplicateName, or InvalidArgument(name) from the simulator. */
export function isNameTaken(err: unknown): boolean {
  if (!(err instanceof VimFault)) return false;
  return (
    err.faultType === 'DuplicateName' ||
    (err.faultType === 'InvalidArgument' && err.fields['invalidProperty'] === 'name')
  );
}

function verdictOf(fault: VimFault): Verdict {
  return (
    faultVerdicts.find(([type]) => fault.faultType === type)?.[1] ??
    faultVerdicts.find(([type]) => isFaultType(fault.faultType, type))?.[1] ??
    refused
  );
}

function build(verdict: Verdict, err: Error): OperationError {
  return new OperationError(verdict.type, err.message, {
    code: verdict.code,
    primary: toFaultInfo(err),
    ...(verdict.next === undefined ? {} : { next: verdict.next }),
    ...(verdict.retryable === undefined ? {} : { retryable: verdict.retryable }),
    cause: err,
  });
}
