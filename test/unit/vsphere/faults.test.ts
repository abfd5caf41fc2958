import assert from 'node:assert/strict';
import { test } from 'node:test';

import { toFaultInfo, withoutSecrets } from '../../../activities/vsphere/fault-info.ts';
import { decodeSoapFault, faultOf } from '../../../activities/vsphere/fault-decode.ts';
import { VimFault, VSphereError } from '../../../activities/vsphere/faults.ts';

const soap = (detail: object, faultstring: unknown = ''): object => ({
  Envelope: { Body: { Fault: { faultcode: 'ServerFaultCode', faultstring, detail } } },
});

test('a fault takes its type from xsi:type, its fields from the table', () => {
  const detail = {
    ManagedObjectNotFoundFault: {
      attributes: { 'xsi:type': 'ManagedObjectNotFound' },
      obj: { attributes: { type: 'VirtualMachine' }, $value: 'vm-9' },
    },
  };
  const fault = decodeSoapFault(soap(detail, 'it is gone'), 'Destroy_Task', 'VirtualMachine:vm-9');
  assert.equal(fault?.faultType, 'ManagedObjectNotFound');
  assert.deepEqual(fault.fields, { obj: { type: 'VirtualMachine', value: 'vm-9' } });
  assert.equal(fault.message, 'Destroy_Task on VirtualMachine:vm-9 failed with ManagedObjectNotFound: it is gone');
});

test('a fault without xsi:type is named by its element', () => {
  const fault = decodeSoapFault(soap({ InvalidLoginFault: null }), 'Login');
  assert.equal(fault?.faultType, 'InvalidLogin');
});

test('a missing privilege is named', () => {
  const detail = {
    NoPermissionFault: { attributes: { 'xsi:type': 'NoPermission' }, privilegeId: 'VApp.Import' },
  };
  assert.match(decodeSoapFault(soap(detail), 'ImportVApp')?.message ?? '', /NoPermission \(privilegeId: VApp.Import\)/);
});

test('an answer without fault decodes to nothing', () => {
  assert.equal(decodeSoapFault({ Envelope: { Body: {} } }, 'Login'), undefined);
  assert.equal(decodeSoapFault(undefined, 'Login'), undefined);
});

test('the error of a task keeps type, fields and text', () => {
  const localized = {
    fault: { _type: 'InvalidArgument', faultMessage: [], invalidProperty: 'name' },
    localizedMessage: 'A specified parameter was not correct',
  };
  const fault = faultOf(localized, { kind: 'task-error', method: 'Rename_Task', moRef: 'Task:task-1' });
  assert.deepEqual(
    { kind: fault?.kind, type: fault?.faultType, fields: fault?.fields },
    { kind: 'task-error', type: 'InvalidArgument', fields: { invalidProperty: 'name' } },
  );
});

test('the error of a lease without a fault is no fault', () => {
  assert.equal(faultOf({ localizedMessage: 'x' }, { kind: 'lease-error', method: 'HttpNfcLease' }), undefined);
  assert.equal(faultOf(undefined, { kind: 'lease-error', method: 'HttpNfcLease' }), undefined);
});

const secrets = [
  'https://esx1.example.com/nfc/52c5a1-lease/disk-0.vmdk?signature=abc',
  'vmware_soap_session="0123456789"',
  'session[52a1b2c3-d4]52f0-uuid',
  'https://admin:pw@vc.example.com/sdk',
];

test('no text that leaves the client holds lease URLs, cookies, session keys or credentials', () => {
  const text = withoutSecrets(`failed: ${secrets.join(' and ')}`);
  for (const part of ['nfc/', 'signature', '0123456789', '52a1b2c3', '52f0-uuid', 'admin', 'pw@', '/sdk']) {
    assert.ok(!text.includes(part), `${part} in ${text}`);
  }
  assert.match(text, /https:\/\/esx1\.example\.com\/…/);
  assert.match(text, /https:\/\/vc\.example\.com\/…/);
});

test('fault infos name type, method and object', () => {
  const fault = new VimFault({
    kind: 'task-error',
    faultType: 'InvalidState',
    method: 'Rename_Task',
    moRef: 'Task:task-7',
  });
  assert.deepEqual(toFaultInfo(fault), {
    kind: 'task-error',
    faultType: 'InvalidState',
    method: 'Rename_Task',
    taskRef: 'Task:task-7',
    message: 'Rename_Task failed with InvalidState',
  });
  const error = new VSphereError('UPLOAD_IO', `${secrets[0]} broke`, { kind: 'http', httpStatus: 500 });
  assert.deepEqual(toFaultInfo(error), {
    kind: 'http',
    faultType: 'UPLOAD_IO',
    httpStatus: 500,
    message: 'https://esx1.example.com/… broke',
  });
});

test('a long text is cut', () => {
  assert.equal(withoutSecrets('x'.repeat(2000)).length, 500);
});
