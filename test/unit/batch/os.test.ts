import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  detectOs,
  distributions,
  isDistributionOf,
  isVersionOf,
  osTypes,
  type OsFacts,
} from '../../../workflows/domain/batch/os.ts';

const nothing = { os: '', os_template: '', description: '' };
const facts = (os_type: OsFacts['os_type'], distribution: string, distribution_version: string): OsFacts => ({
  os_type,
  distribution,
  distribution_version,
});

const names: readonly (readonly [name: string, expected: OsFacts])[] = [
  ['AlmaLinux 9.3 (Shamrock Pampas Capybara)', facts('linux', 'alma', '9')],
  ['AlmaLinux (64-bit)', facts('linux', 'alma', '')],
  ['Arch Linux', facts('linux', 'arch', '')],
  ['Search Appliance 4', facts('linux', 'other', '')],
  ['Linux aarch64', facts('linux', 'other', '')],
  ['Debian GNU/Linux 12 (bookworm)', facts('linux', 'debian', '12')],
  ['Debian GNU/Linux 11 (64-bit)', facts('linux', 'debian', '11')],
  ['Debian GNU/Linux trixie/sid', facts('linux', 'debian', '')],
  ['Ubuntu 22.04.4 LTS', facts('linux', 'ubuntu', '22.04')],
  ['Ubuntu 24.04', facts('linux', 'ubuntu', '24.04')],
  ['Ubuntu Linux (64-bit)', facts('linux', 'ubuntu', '')],
  ['Oracle Linux Server 8.9', facts('linux', 'oracle', '8')],
  ['Oracle Linux 4/5 or later (64-bit)', facts('linux', 'oracle', '')],
  ['CentOS Stream 9', facts('linux', 'centos', '9')],
  ['CentOS 4/5 or later (64-bit)', facts('linux', 'centos', '')],
  ['CentOS Linux 7 (Core)', facts('linux', 'centos', '7')],
  ['Red Hat Enterprise Linux 8.9 (Ootpa)', facts('linux', 'rhel', '8')],
  ['Red Hat Enterprise Linux 9 (64-bit)', facts('linux', 'rhel', '9')],
  ['rhel', facts('linux', 'rhel', '')],
  ['SUSE Linux Enterprise Server 15 SP5', facts('linux', 'suse', '15')],
  ['openSUSE Leap 15.5', facts('linux', 'suse', '15')],
  ['Rocky Linux 9.3 (Blue Onyx)', facts('linux', 'rocky', '9')],
  ['Amazon Linux 2023.3.20240108', facts('linux', 'amazon', '2023')],
  ['Fedora Linux 39 (Server Edition)', facts('linux', 'fedora', '39')],
  ['Other 5.x or later Linux (64-bit)', facts('linux', 'other', '')],
  ['', facts('linux', 'other', '')],
  ['FreeBSD 13.2-RELEASE-p4', facts('bsd', 'freebsd', '13')],
  ['FreeBSD 14 or later versions (64-bit)', facts('bsd', 'freebsd', '14')],
  ['OpenBSD 7.4', facts('bsd', 'other', '')],
  ['Microsoft Windows 10 (64-bit)', facts('windows', 'other', '10')],
  ['Windows 11 Pro, 64-bit (Build 22631.1)', facts('windows', 'other', '11')],
  ['Microsoft Windows 7 (64-bit)', facts('windows', 'other', '')],
  ['Microsoft Windows Server 2003 Standard (32-bit)', facts('windows', 'other', 'Server 2003')],
  ['Microsoft Windows Server 2003 R2', facts('windows', 'other', 'Server 2003')],
  ['Windows Server® 2008', facts('windows', 'other', 'Server 2008')],
  ['Microsoft Windows Server 2008 R2 (64-bit)', facts('windows', 'other', 'Server 2008 R2')],
  ['Microsoft Windows Server 2012 (64-bit)', facts('windows', 'other', 'Server 2012')],
  ['WINDOWS SERVER 2012 R2 STANDARD', facts('windows', 'other', 'Server 2012 R2')],
  ['Microsoft Windows Server 2016 or later (64-bit)', facts('windows', 'other', 'Server 2016')],
  ['Windows Server 2019 Standard, 64-bit (Build 17763.1)', facts('windows', 'other', 'Server 2019')],
  ['Microsoft Windows Server 2022 (64-bit)', facts('windows', 'other', 'Server 2022')],
  ['Microsoft Windows Server 2025 (64-bit)', facts('windows', 'other', 'Server 2025')],
  ['Windows Server 20191', facts('windows', 'other', '')],
];

for (const [name, expected] of names) {
  test(`"${name}" is ${expected.os_type}, ${expected.distribution}, version "${expected.distribution_version}"`, () => {
    assert.deepEqual(detectOs({ ...nothing, os: name }), expected);
    assert.deepEqual(detectOs({ ...nothing, os_template: name }), expected);
  });
}

test('what the guest says counts more than the template it was made of', () => {
  const os = detectOs({ os: 'Ubuntu 22.04', os_template: 'Microsoft Windows 10 (64-bit)', description: '' });
  assert.deepEqual(os, facts('linux', 'ubuntu', '22.04'));
});

test('a description makes a FortiGate of everything but Windows', () => {
  const description = 'FortiGate 7.2 appliance';
  assert.deepEqual(detectOs({ ...nothing, os: 'Other Linux 4', description }), facts('fortigate', 'other', ''));
  assert.equal(detectOs({ ...nothing, os: 'FreeBSD 13', description }).os_type, 'fortigate');
  assert.equal(detectOs({ ...nothing, os: 'Windows 10', description }).os_type, 'windows');
  assert.equal(detectOs({ ...nothing, description: 'behind a FortiGate' }).os_type, 'linux');
});

test('overrides win, and nothing of another system is left beside them', () => {
  const ubuntu = { ...nothing, os: 'Ubuntu 22.04' };
  assert.deepEqual(detectOs(ubuntu, { os_type: 'windows' }), facts('windows', 'other', ''));
  assert.deepEqual(detectOs(ubuntu, { distribution: 'debian' }), facts('linux', 'debian', ''));
  assert.deepEqual(detectOs(ubuntu, { distribution: 'ubuntu' }), facts('linux', 'ubuntu', '22.04'));
  assert.deepEqual(detectOs(ubuntu, { distribution_version: '24.04' }), facts('linux', 'ubuntu', '24.04'));
  assert.deepEqual(
    detectOs(ubuntu, { os_type: 'windows', distribution_version: 'Server 2019' }),
    facts('windows', 'other', 'Server 2019'),
  );
  assert.deepEqual(detectOs(ubuntu, { distribution: '', distribution_version: '' }), detectOs(ubuntu));
});

test('whatever a guest is called, the answer fits its own rules', () => {
  const part = fc.constantFrom(
    'Windows',
    'Server',
    'FreeBSD',
    'Ubuntu',
    'Debian',
    'Red Hat',
    '2019',
    '22.04',
    '64-bit',
    'R2',
    '7',
  );
  const name = fc.oneof(
    fc.array(part).map((parts) => parts.join(' ')),
    fc.string(),
  );
  fc.assert(
    fc.property(name, name, fc.string(), (os, os_template, description) => {
      const found = detectOs({ os, os_template, description });
      assert.ok(osTypes.includes(found.os_type));
      assert.ok(distributions.some((one) => one === found.distribution));
      assert.ok(isDistributionOf(found.os_type, found.distribution), JSON.stringify(found));
      assert.ok(isVersionOf(found), JSON.stringify(found));
    }),
  );
});

test('the distributions are those of the specification', () => {
  const words = 'alma arch debian ubuntu oracle centos rhel suse rocky amazon fedora freebsd other';
  assert.deepEqual([...distributions].sort(), words.split(' ').sort());
});

test('versions and distributions of other systems are told apart', () => {
  assert.ok(!isVersionOf(facts('windows', 'other', '2019')));
  assert.ok(isVersionOf(facts('windows', 'other', 'Server 2019')));
  assert.ok(!isVersionOf(facts('linux', 'ubuntu', '22')));
  assert.ok(!isVersionOf(facts('linux', 'debian', '12.1')));
  assert.ok(isVersionOf(facts('linux', 'debian', '12')));
  assert.ok(!isDistributionOf('linux', 'freebsd'));
  assert.ok(!isDistributionOf('windows', 'debian'));
  assert.ok(isDistributionOf('bsd', 'freebsd'));
});
