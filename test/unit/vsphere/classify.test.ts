import assert from 'node:assert/strict';
import { test } from 'node:test';

import { classify } from '../../../activities/vsphere/classify.ts';
import { hierarchyOf, isFaultType } from '../../../activities/vsphere/fault-hierarchy.ts';
import type { Reaction } from '../../../activities/vsphere/faults.ts';
import { VimFault, VSphereError } from '../../../activities/vsphere/faults.ts';

const fault = (faultType: string, method: string, fields: Record<string, unknown> = {}): VimFault =>
  new VimFault({ kind: 'vim-fault', faultType, method, fields });

/** Rows in the order of the template spec's table of faults and retry classes. */
const faults: readonly (readonly [string, readonly string[], Reaction])[] = [
  ['Login', ['InvalidLogin', 'NoPermission', 'InvalidLocale', 'PasswordExpired'], 'permanent'],
  [
    'CreateImportSpec',
    ['InvalidArgument', 'OvfImport', 'OvfUnsupportedType', 'InvalidDatastore', 'NotFound'],
    'permanent',
  ],
  [
    'CreateImportSpec',
    ['TaskInProgress', 'ConcurrentAccess', 'HostCommunication', 'HostNotConnected', 'HostNotReachable', 'InvalidState'],
    'retry',
  ],
  ['ImportVApp', ['DuplicateName', 'FileAlreadyExists'], 'reobserve'],
  ['HttpNfcLease', ['DuplicateName', 'FileAlreadyExists'], 'reobserve'],
  ['ImportVApp', ['NoDiskSpace', 'InsufficientResourcesFault', 'DatastoreNotWritableOnHost'], 'retry-long'],
  ['HttpNfcLease', ['NoDiskSpace', 'InsufficientStorageSpace'], 'retry-long'],
  ['ImportVApp', ['InvalidHostState', 'HostNotConnected', 'HostCommunication'], 'retry'],
  [
    'ImportVApp',
    ['NotSupported', 'DeviceUnsupportedForVmPlatform', 'VmConfigFault', 'OutOfBounds', 'InvalidName'],
    'permanent',
  ],
  ['HttpNfcLeaseProgress', ['Timedout', 'ManagedObjectNotFound'], 'retry'],
  ['HttpNfcLeaseComplete', ['InvalidState', 'Timedout'], 'retry'],
  ['HttpNfcLeaseComplete', ['ManagedObjectNotFound'], 'reobserve'],
  ['HttpNfcLeaseAbort', ['InvalidState', 'Timedout', 'ManagedObjectNotFound'], 'gone'],
  ['ReconfigVM_Task', ['TaskInProgress', 'InvalidState', 'ConcurrentAccess'], 'retry'],
  ['ReconfigVM_Task', ['InvalidVmConfig', 'NotSupported'], 'reobserve'],
  ['MarkAsTemplate', ['NotSupported', 'InvalidPowerState'], 'reobserve'],
  ['MarkAsTemplate', ['InvalidState'], 'retry'],
  ['Rename_Task', ['DuplicateName'], 'reobserve'],
  ['Rename_Task', ['InvalidName'], 'permanent'],
  ['Rename_Task', ['TaskInProgress', 'ResourceInUse', 'InvalidState', 'MethodDisabled'], 'retry'],
  ['Destroy_Task', ['ManagedObjectNotFound'], 'gone'],
  ['Destroy_Task', ['ResourceInUse', 'TaskInProgress', 'InvalidState', 'MethodDisabled'], 'retry-long'],
  ['Destroy_Task', ['InvalidPowerState'], 'reobserve'],
  ['FindChild', ['NotAuthenticated'], 'relogin'],
  ['Rename_Task', ['NotAuthenticated'], 'relogin'],
  ['FindChild', ['NoPermission'], 'permanent'],
  ['RetrievePropertiesEx', ['ManagedObjectNotFound'], 'gone'],
  ['FindChild', ['MethodNotFound', 'NotImplemented', 'SomethingNobodyKnows'], 'permanent'],
];

for (const [method, types, reaction] of faults) {
  for (const type of types) {
    test(`${type} of ${method} means ${reaction}`, () => assert.equal(classify(fault(type, method), method), reaction));
  }
}

test('the simulator and vCenter say "name taken" differently, with the same reaction', () => {
  const taken = fault('InvalidArgument', 'Rename_Task', { invalidProperty: 'name' });
  assert.equal(classify(taken, 'Rename_Task'), 'reobserve');
  const other = fault('InvalidArgument', 'Rename_Task', { invalidProperty: 'folder' });
  assert.equal(classify(other, 'Rename_Task'), 'permanent');
});

const error = (code: VSphereError['code'], outcomeUnknown = false, httpStatus?: number): VSphereError =>
  new VSphereError(
    code,
    'x',
    { kind: 'http', ...(httpStatus === undefined ? {} : { httpStatus }) },
    { outcomeUnknown },
  );

const errors: readonly (readonly [VSphereError, string, Reaction])[] = [
  [error('TRANSPORT', true), 'Rename_Task', 'reobserve'],
  [error('TRANSPORT', false), 'Rename_Task', 'retry'],
  [error('TRANSPORT', true), 'FindChild', 'retry'],
  [error('TIMEOUT', true), 'ImportVApp', 'reobserve'],
  [error('HTTP', true, 503), 'Rename_Task', 'reobserve'],
  [error('HTTP', true, 504), 'FindChild', 'retry'],
  [error('HTTP', false, 404), 'FindChild', 'permanent'],
  [error('REST', false, 503), 'GET /api/cis/tagging/tag', 'retry'],
  [error('REST', false, 403), 'POST /api/cis/tagging/tag-association', 'permanent'],
  [error('LEASE_LOST'), 'HttpNfcLeaseProgress', 'retry'],
  [error('LEASE_ERROR_UNKNOWN'), 'HttpNfcLease', 'retry'],
  [error('LEASE_MAPPING'), 'HttpNfcLease', 'retry'],
  [error('UPLOAD_IO'), 'upload', 'retry'],
  [error('UPLOAD_STALLED'), 'upload', 'retry'],
  [error('ESXI_UNREACHABLE'), 'upload', 'retry'],
  [error('INSUFFICIENT_SPACE'), 'upload', 'retry-long'],
  [error('NFC_TLS'), 'upload', 'permanent'],
  [error('TLS_CA'), 'Login', 'permanent'],
  [error('TLS_THUMBPRINT'), 'Login', 'permanent'],
  [error('TLS_INSECURE_FORBIDDEN'), 'Login', 'permanent'],
  [error('NOT_VCENTER'), 'Login', 'permanent'],
  [error('AUTH'), 'Login', 'permanent'],
  [error('PROTOCOL'), 'Login', 'permanent'],
];

for (const [failure, method, reaction] of errors) {
  const how = `${failure.outcomeUnknown ? ' with unknown outcome' : ''}${failure.info.httpStatus ?? ''}`;
  test(`${failure.code}${how} of ${method} means ${reaction}`, () => assert.equal(classify(failure, method), reaction));
}

test('what is no failure of vCenter is permanent', () => {
  assert.equal(classify(new TypeError('bug'), 'FindChild'), 'permanent');
});

test('the hierarchy knows the families that decisions are made by', () => {
  const families = {
    InvalidState: ['TaskInProgress', 'InvalidPowerState', 'InvalidHostState', 'QuestionPending'],
    FileFault: ['FileAlreadyExists', 'NoDiskSpace', 'FileLocked', 'CannotCreateFile', 'FileNotFound'],
    HostCommunication: ['HostNotConnected', 'HostNotReachable'],
    SecurityError: ['NoPermission', 'NotAuthenticated'],
    RuntimeFault: [
      ...['InvalidArgument', 'ManagedObjectNotFound', 'NotSupported', 'NotImplemented', 'MethodNotFound'],
      ...['MethodDisabled', 'RequestCanceled', 'SystemError', 'NotAuthenticated'],
    ],
  };
  for (const [family, members] of Object.entries(families)) {
    for (const member of members) assert.ok(isFaultType(member, family), `${member} is a ${family}`);
  }
  assert.equal(isFaultType('InvalidState', 'TaskInProgress'), false);
  assert.deepEqual(hierarchyOf('NeverHeardOf'), ['NeverHeardOf', 'MethodFault']);
});
