import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { importVAppXml } from '../../../activities/vsphere/import.ts';
import { editImportSpec } from '../../../activities/vsphere/import-spec-edit.ts';
import { sliceImportSpec } from '../../../activities/vsphere/import-spec-slice.ts';
import { validateRequestXml } from '../../../activities/vsphere/vim25/validate.ts';
import { envelope } from './scripted-vcenter.ts';

const golden = (name: string): Promise<string> => readFile(new URL(`golden/${name}.xml`, import.meta.url), 'utf8');
const edits = {
  extraConfig: new Map([
    ['vmflow.prod', 'a & <b> "c"'],
    ['vmflow.state', 'importing'],
  ]),
  emptyDiskFileNames: true,
};
const none = { extraConfig: new Map<string, string>(), emptyDiskFileNames: false };
const pool = { type: 'ResourcePool', value: 'resgroup-1' };
const folder = { type: 'Folder', value: 'group-v3' };
const host = { type: 'HostSystem', value: 'host-1' };

const cases = {
  'no-devices': 'a spec without devices and options',
  'existing-options': 'behind the options that are there',
  follower: 'before the first element that must follow; only added disks below a directory lose their name',
  prefixed: 'a spec with prefixed names',
  'cdata-entities-comments': 'a spec with CDATA, entities, comments and processing instructions',
  'empty-config': 'a self-closing configSpec',
};

for (const [name, what] of Object.entries(cases)) {
  test(`the import spec edit handles ${what}`, async () => {
    assert.equal(editImportSpec(await golden(`${name}.in`), edits), await golden(`${name}.out`));
  });

  test(`an edited spec fits the schema: ${name}`, async () => {
    const call = importVAppXml(pool, editImportSpec(await golden(`${name}.in`), edits), folder, host);
    const request = `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>${call}</e:Body></e:Envelope>`;
    assert.deepEqual(validateRequestXml(request), []);
  });

  test(`without edits only the element's name and bindings change: ${name}`, async () => {
    const before = await golden(`${name}.in`);
    const inner = (xml: string): string => xml.slice(xml.indexOf('>') + 1, xml.lastIndexOf('<'));
    assert.equal(inner(editImportSpec(before, none)), inner(before));
  });
}

test('a spec that is not well-formed is refused', () => {
  assert.throws(() => editImportSpec('<importSpec><configSpec></importSpec>', edits), { code: 'PROTOCOL' });
});

test('the slice is cut byte for byte and takes the outer namespace declarations with it', () => {
  const inner = `<configSpec><name>x &amp; y</name>\r\n<!-- c --><annotation><![CDATA[</importSpec>]]></annotation></configSpec>`;
  const answer = envelope(
    'CreateImportSpec',
    `<returnval><importSpec xsi:type="VirtualMachineImportSpec">${inner}</importSpec><fileItem/></returnval>`,
  );
  const slice = sliceImportSpec(answer) ?? '';
  assert.ok(slice.startsWith('<importSpec '));
  assert.ok(slice.endsWith(` xsi:type="VirtualMachineImportSpec">${inner}</importSpec>`));
  for (const binding of ['xmlns="urn:vim25"', 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"']) {
    assert.ok(slice.includes(binding), binding);
  }
});

test('an answer without import spec has no slice', () => {
  assert.equal(sliceImportSpec(envelope('CreateImportSpec', '<returnval><error/></returnval>')), undefined);
});
