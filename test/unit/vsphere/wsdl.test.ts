import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Client, WSDL } from 'soap';

import { operations } from '../../../activities/vsphere/vim25/table.ts';
import { wsdlText } from '../../../activities/vsphere/vim25/wsdl.ts';

/** Argument orders as published; `_this` goes first everywhere. */
const published = {
  RetrieveServiceContent: '',
  Login: 'userName password locale',
  Logout: '',
  CurrentTime: '',
  SessionIsActive: 'sessionID userName',
  TerminateSession: 'sessionId',
  FindByInventoryPath: 'inventoryPath',
  FindChild: 'entity name',
  FindByUuid: 'datacenter uuid vmSearch instanceUuid',
  RetrievePropertiesEx: 'specSet options',
  ContinueRetrievePropertiesEx: 'token',
  CreatePropertyCollector: '',
  DestroyPropertyCollector: '',
  CreateFilter: 'spec partialUpdates',
  DestroyPropertyFilter: '',
  WaitForUpdatesEx: 'version options',
  CancelWaitForUpdates: '',
  CreateContainerView: 'container type recursive',
  DestroyView: '',
  CreateImportSpec: 'ovfDescriptor resourcePool datastore cisp',
  ImportVApp: 'spec folder host',
  HttpNfcLeaseProgress: 'percent',
  HttpNfcLeaseComplete: '',
  HttpNfcLeaseAbort: 'fault',
  HttpNfcLeaseGetManifest: '',
  Rename_Task: 'newName',
  Destroy_Task: '',
  ReconfigVM_Task: 'spec',
  UpgradeVM_Task: 'version',
  MarkAsTemplate: '',
  MarkAsVirtualMachine: 'pool host',
  CreateSnapshot_Task: 'name description memory quiesce',
  RemoveSnapshot_Task: 'removeChildren consolidate',
  ConsolidateVMDisks_Task: '',
  ExportSnapshot: '',
  QueryChangedDiskAreas: 'snapshot deviceKey startOffset changeId',
  PowerOnVM_Task: 'host',
  PowerOffVM_Task: '',
  ShutdownGuest: '',
  CancelTask: '',
} as const;

test('every operation has the published arguments in the published order', () => {
  const ours = Object.entries(operations).map(([name, { args }]) => [name, Object.keys(args).join(' ')]);
  const expected = Object.entries(published).map(([name, args]) => [name, `_this ${args}`.trim()]);
  assert.deepEqual(ours, expected);
});

test('the WSDL stays small and has no type extension, whose order the SOAP library gets wrong', () => {
  const text = wsdlText();
  assert.ok(Buffer.byteLength(text) < 60_000, `${Buffer.byteLength(text)} bytes`);
  const extensions = text.match(/<s:extension base="([^"]*)"/g);
  assert.deepEqual(extensions, ['<s:extension base="s:string"'], 'only the attribute of a reference');
});

test('a client made from it offers every operation', async () => {
  const wsdl = new WSDL(wsdlText(), 'vim25', {});
  await new Promise<void>((resolve, reject) => {
    wsdl.onReady((error: unknown) => (error instanceof Error ? reject(error) : resolve()));
  });
  const client = new Client(wsdl, 'https://localhost/sdk');
  for (const name of Object.keys(operations)) assert.equal(typeof client[name], 'function', name);
});
