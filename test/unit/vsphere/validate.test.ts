import assert from 'node:assert/strict';
import { test } from 'node:test';

import { encodeArgs } from '../../../activities/vsphere/vim25/encode.ts';
import { validateRequest, validateRequestXml } from '../../../activities/vsphere/vim25/validate.ts';

const vm = { type: 'VirtualMachine', value: 'vm-1' };
const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
const xsd = 'xmlns:xsd="http://www.w3.org/2001/XMLSchema"';

const request = (call: string): string =>
  `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" ${xsi}><e:Body>${call}</e:Body></e:Envelope>`;
const self = '<_this type="VirtualMachine">vm-1</_this>';
const call = (method: string, content: string): string =>
  request(`<${method} xmlns="urn:vim25">${content}</${method}>`);

const option = `<extraConfig xsi:type="OptionValue"><key>k</key><value xsi:type="xsd:string" ${xsd}>v</value></extraConfig>`;

const wrong: readonly (readonly [string, string, RegExp])[] = [
  ['arguments in the wrong order', call('Rename_Task', `<newName>n</newName>${self}`), /_this stands behind newName/],
  ['a missing argument', call('Rename_Task', self), /newName is missing/],
  ['an argument given twice', call('Rename_Task', `${self}<newName>a</newName><newName>b</newName>`), /2 times/],
  [
    'an unknown argument',
    call('Rename_Task', `${self}<newName>a</newName><force>true</force>`),
    /unknown element force/,
  ],
  ['a reference without type', call('Destroy_Task', '<_this>vm-1</_this>'), /needs the attribute type/],
  ['an empty reference', call('Destroy_Task', '<_this type="VirtualMachine"/>'), /empty reference/],
  ['a number that is none', call('HttpNfcLeaseProgress', `${self}<percent>half</percent>`), /"half" is no int/],
  [
    'fields of a nested type in the wrong order',
    call('ReconfigVM_Task', `${self}<spec>${option}<annotation>a</annotation></spec>`),
    /annotation stands behind extraConfig/,
  ],
  [
    'an option without xsi:type',
    call('ReconfigVM_Task', `${self}<spec>${option.replace('xsi:type="OptionValue"', '')}</spec>`),
    /OptionValue needs xsi:type/,
  ],
  [
    'a value without xsi:type',
    call('ReconfigVM_Task', `${self}<spec>${option.replace('xsi:type="xsd:string"', '')}</spec>`),
    /anyType without xsi:type/,
  ],
  [
    'an option of a foreign type',
    call('ReconfigVM_Task', `${self}<spec>${option.replace('"OptionValue"', '"TraversalSpec"')}</spec>`),
    /TraversalSpec is no OptionValue/,
  ],
  ['a method that does not exist', call('Rename', self), /unknown method Rename/],
];

for (const [what, xml, problem] of wrong) {
  test(`the validator finds ${what}`, () => {
    assert.match(validateRequestXml(xml).join('; '), problem);
  });
}

test('the validator accepts a right request, as text and as encoded arguments', () => {
  assert.deepEqual(validateRequestXml(call('ReconfigVM_Task', `${self}<spec>${option}</spec>`)), []);
  const spec = { extraConfig: [{ key: 'k', value: 'v' }], annotation: 'a' };
  assert.deepEqual(validateRequest('ReconfigVM_Task', encodeArgs('ReconfigVM_Task', { spec, _this: vm })), []);
});

test('encoded arguments are checked as well', () => {
  assert.deepEqual(
    validateRequest('Rename_Task', { newName: 'n', _this: { attributes: { type: 'Folder' }, $value: 'f' } }),
    ['Rename_Task: _this stands behind newName'],
  );
});

test('encoding puts fields into the order of the schema and keeps what a newer server added', () => {
  const bootOptions = {
    networkBootProtocol: 'ipv4',
    bootDelay: 5,
    aNewField: 'x',
    bootOrder: [],
    _type: 'VirtualMachineBootOptions',
  };
  const { spec } = encodeArgs('ReconfigVM_Task', { spec: { bootOptions }, _this: vm }) as {
    spec: { bootOptions: Record<string, unknown> };
  };
  assert.deepEqual(Object.keys(spec.bootOptions), ['bootDelay', 'networkBootProtocol', 'aNewField']);
});

test('text that XML cannot carry is refused before it is sent', () => {
  assert.throws(() => encodeArgs('Rename_Task', { _this: vm, newName: 'a\u0001b' }), /control character/);
});
