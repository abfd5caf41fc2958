import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { matchesUpload, nextStop, type NfcRule } from '../../sim/nfc-rules.ts';
import { matchesMethod, type Rule, RuleTable } from '../../sim/proxy-rules.ts';
import { type RecordedRequest, RequestLog } from '../../sim/request-log.ts';
import { isMutating, soapFault, wireName } from '../../sim/wire-names.ts';

function envelope(method: string, self = 'vm-1'): string {
  return `<soap:Envelope><soap:Body xmlns="x"><${method} xmlns="urn:vim25"><_this type="VirtualMachine">${self}</_this></${method}></soap:Body></soap:Envelope>`;
}

function soap(method: string, self?: string): RecordedRequest {
  const body = envelope(method, self);
  return new RequestLog().open(wireName('POST', '/sdk', body), 'POST', '/sdk', {}, body);
}

describe('rules', () => {
  const fault = (when: Omit<Extract<Rule, { action: 'fault' }>, 'action' | 'fault'>): Rule => ({
    ...when,
    action: 'fault',
    fault: 'InvalidState',
  });

  test('fire once for the first matching call by default', () => {
    const table = new RuleTable<Rule>(matchesMethod);
    const rule = table.add(fault({ method: 'Rename_Task' }));
    const counts = ['Destroy_Task', 'Rename_Task', 'Rename_Task'].map((method) => table.fire(soap(method)).length);
    assert.deepEqual(counts, [0, 1, 0]);
    assert.equal(rule.fired(), 1);
  });

  test('fire from the nth matching call on, as often as asked', () => {
    const table = new RuleTable<Rule>(matchesMethod);
    table.add(fault({ method: 'Rename_Task', nth: 2, times: 2 }));
    const counts = [1, 2, 3, 4].map(() => table.fire(soap('Rename_Task')).length);
    assert.deepEqual(counts, [0, 1, 1, 0]);
  });

  test('count only what their predicate accepts', () => {
    const table = new RuleTable<Rule>(matchesMethod);
    table.add(fault({ method: '*', match: ({ object }) => object?.value === 'vm-2' }));
    assert.deepEqual([table.fire(soap('Rename_Task')).length, table.fire(soap('Rename_Task', 'vm-2')).length], [0, 1]);
  });

  test('are gone when removed or cleared', () => {
    const table = new RuleTable<Rule>(matchesMethod);
    table.add(fault({ method: '*', times: Infinity })).remove();
    table.add(fault({ method: '*', times: Infinity }));
    assert.equal(table.fire(soap('Rename_Task')).length, 1);
    table.clear();
    assert.equal(table.fire(soap('Rename_Task')).length, 0);
  });
});

describe('upload rules', () => {
  const reset: NfcRule = { action: 'reset', afterBytes: 100 };

  test('match by file', () => {
    const upload = new RequestLog().open(wireName('POST', '/nfc/lease/disk-0.vmdk', ''), 'POST', '/nfc/x', {}, '');
    assert.deepEqual(
      [undefined, 'disk-0.vmdk', 'disk-1.vmdk', /-0\./].map((file) =>
        matchesUpload(file === undefined ? reset : { ...reset, file }, upload),
      ),
      [true, true, false, true],
    );
  });

  test('stop exactly at their byte', () => {
    assert.deepEqual(nextStop([reset], 0, 64), { pass: 64 });
    assert.deepEqual(nextStop([reset], 64, 64), { rule: reset, pass: 36 });
    assert.deepEqual(nextStop([reset], 100, 64), { rule: reset, pass: 0 });
  });

  test('act in the order of their bytes', () => {
    const slow: NfcRule = { action: 'throttle', bytesPerSecond: 10, afterBytes: 20 };
    assert.equal(nextStop([reset, slow], 0, 500).rule, slow);
  });
});

describe('names on the wire', () => {
  const rows: readonly (readonly [verb: string, url: string, body: string, method: string, mutating: boolean])[] = [
    ['POST', '/sdk', envelope('Rename_Task'), 'Rename_Task', true],
    ['POST', '/sdk/vimService', envelope('ImportVApp'), 'ImportVApp', true],
    ['POST', '/sdk', envelope('HttpNfcLeaseComplete'), 'HttpNfcLeaseComplete', true],
    ['POST', '/sdk', envelope('HttpNfcLeaseProgress'), 'HttpNfcLeaseProgress', false],
    ['POST', '/sdk', envelope('RetrievePropertiesEx'), 'RetrievePropertiesEx', false],
    ['POST', '/sdk', envelope('CreateImportSpec'), 'CreateImportSpec', false],
    ['POST', '/sdk', envelope('Login'), 'Login', false],
    ['POST', '/sdk', envelope('CreateFolder'), 'CreateFolder', true],
    ['POST', '/rest/com/vmware/cis/session', '', 'REST session POST', false],
    ['GET', '/rest/com/vmware/cis/tagging/tag/id:urn:1', '', 'REST tag GET', false],
    [
      'POST',
      '/rest/com/vmware/cis/tagging/tag-association/id:u?~action=attach',
      '',
      'REST tag-association attach',
      true,
    ],
    [
      'POST',
      '/rest/com/vmware/cis/tagging/tag-association?~action=list-attached-tags',
      '',
      'REST tag-association list-attached-tags',
      false,
    ],
    ['POST', '/api/cis/tagging/tag-association/u?action=attach', '', 'REST tag-association attach', true],
    ['GET', '/api/cis/tagging/tag', '', 'REST tag GET', false],
    ['POST', '/nfc/lease/disk.vmdk', '', 'NFC POST', true],
    ['GET', '/folder/a.vmdk?dcPath=DC0', '', 'GET /folder/a.vmdk', false],
    ['GET', '/sdk/vimServiceVersions.xml', '', 'GET /sdk/vimServiceVersions.xml', false],
  ];
  for (const [verb, url, body, method, mutating] of rows) {
    test(`${method} of ${verb} ${url} is ${mutating ? '' : 'not '}mutating`, () => {
      const name = wireName(verb, url, body);
      assert.equal(name.method, method);
      assert.equal(isMutating(name), mutating);
    });
  }

  test('a SOAP call names its object', () => {
    assert.deepEqual(soap('Rename_Task', 'vm-7').object, { type: 'VirtualMachine', value: 'vm-7' });
  });

  test('a fault carries its type twice, as vCenter sends it', () => {
    const xml = soapFault('ResourceInUse', { fields: '<name>vm</name>' });
    assert.match(
      xml,
      /<detail><ResourceInUseFault xmlns="urn:vim25" xsi:type="ResourceInUse"><name>vm<\/name><\/ResourceInUseFault><\/detail>/,
    );
  });
});

describe('the record of a request', () => {
  test('shows whether a session was sent, never the session or a password', () => {
    const body =
      '<Envelope><Body><Login xmlns="urn:vim25"><_this type="SessionManager">s</_this><password>hunter2</password></Login></Body></Envelope>';
    const headers = {
      cookie: 'vmware_soap_session="c0ffee"; other=1',
      authorization: 'Basic aHVudGVyMg==',
      'user-agent': 'x',
    };
    const record = new RequestLog().open(wireName('POST', '/sdk', body), 'POST', '/sdk?secret=c0ffee', headers, body);
    assert.match(record.session ?? '', /^[0-9a-f]{12}$/);
    assert.deepEqual(record.headers, { 'user-agent': 'x' });
    assert.doesNotMatch(JSON.stringify(record), /hunter2|c0ffee|aHVudGVyMg/);
  });
});
