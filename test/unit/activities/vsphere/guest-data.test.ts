import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseGuestData } from '../../../../activities/vsphere/source/guest-data.ts';

const system = (text: string): string => parseGuestData(text).os;

test('nothing said is nothing known', () => {
  assert.deepEqual(parseGuestData(''), { os: '', description: '', architecture: '' });
  assert.deepEqual(parseGuestData('garbage'), { os: '', description: '', architecture: '' });
});

for (const [text, architecture] of [
  ["architecture='X86' bitness='64'", 'x86_64'],
  ["architecture='X86' bitness='32'", 'i686'],
  ["architecture='Arm' bitness='64'", 'aarch64'],
  ["architecture='Arm' bitness='32'", 'armv8l'],
  ["architecture='Sparc' bitness='64'", ''],
  ["bitness='64' architecture='X86'", 'x86_64'],
] as const) {
  test(`${text} is ${architecture || 'not known'}`, () => {
    assert.equal(parseGuestData(text).architecture, architecture);
  });
}

for (const [text, os] of [
  ["distroName='Ubuntu' distroVersion='22.04' prettyName='Ubuntu 22.04.4 LTS'", 'Ubuntu 22.04'],
  ["distroName='Ubuntu 22.04' prettyName='Ubuntu 22.04.4 LTS'", 'Ubuntu 22.04'],
  [
    "distroName='Debian GNU/Linux' distroVersion='12' prettyName='Debian GNU/Linux 12 (bookworm)'",
    'Debian GNU/Linux 12',
  ],
  ["distroName='Arch Linux' prettyName='Arch Linux'", 'Arch Linux'],
  ["prettyName='Somix 3'", ''],
  [
    "distroName='Windows' distroVersion='10.0' prettyName='Windows Server 2022, 64-bit (Build 20348.169)'",
    'Windows Server 2022',
  ],
  ["distroName='Windows' distroVersion='10.0' prettyName='Windows 11 Pro, 64-bit (Build 22631)'", 'Windows 11 Pro'],
  ["distroName='Windows' distroVersion='10.0'", 'Windows'],
  ["distroName='Windows Server 2019' distroVersion='10.0'", 'Windows Server 2019'],
] as const) {
  test(`${text} is ${os || 'not known'}`, () => {
    assert.equal(system(text), os);
  });
}

test('quotes inside a value are taken as they were meant', () => {
  assert.equal(parseGuestData("prettyName='Bob\\'s Linux' distroName='x'").description, "Bob's Linux");
});
