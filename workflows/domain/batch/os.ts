import type { InstanceOverrides, InstanceRecord, OsType } from './records.ts';

export const osTypes: readonly OsType[] = ['linux', 'windows', 'bsd', 'fortigate'];

/** What `distribution` may say; `other` = not known. */
export const distributions = [
  'alma',
  'arch',
  'debian',
  'ubuntu',
  'oracle',
  'centos',
  'rhel',
  'suse',
  'rocky',
  'amazon',
  'fedora',
  'freebsd',
  'other',
] as const;

export type Distribution = (typeof distributions)[number];

/** What `distribution_version` may say of a Windows guest. */
export const windowsVersions = [
  '10',
  '11',
  'Server 2003',
  'Server 2008',
  'Server 2008 R2',
  'Server 2012',
  'Server 2012 R2',
  'Server 2016',
  'Server 2019',
  'Server 2022',
  'Server 2025',
] as const;

/** How systems call themselves. The clones come before the original, whose name some of them mention. */
const linuxNames: readonly (readonly [Distribution, RegExp])[] = [
  ['alma', /\balma ?linux/i],
  ['rocky', /\brocky\b/i],
  ['oracle', /\boracle\b/i],
  ['centos', /\bcentos\b/i],
  ['amazon', /\bamazon\b/i],
  ['fedora', /\bfedora\b/i],
  ['ubuntu', /\bubuntu\b/i],
  ['debian', /\bdebian\b/i],
  ['suse', /\b(?:open)?suse\b|\bsles\b/i],
  ['arch', /\barch ?linux\b|^arch$/i],
  ['rhel', /\bred hat\b|\brhel\b/i],
];

/** A whole number that is neither the width of the processor nor one of several (`CentOS 4/5 or later (64-bit)`). */
const number = /(?<![\w./-])(\d+)(?![\d/]|-?bit)/i;
const yearAndMonth = /(?<![\w.])(\d\d\.\d\d)(?!\d)/;

export interface OsFacts {
  readonly os_type: OsType;
  readonly distribution: string;
  /** Empty: can't be told. */
  readonly distribution_version: string;
}

/**
 * What runs in a VM, from what the guest says and, where it says nothing, from the template it was made of. The distribution of
 * an overridden type, and the version of an overridden distribution, are looked for again: those of another system are none.
 */
export function detectOs(
  { os, os_template, description }: Pick<InstanceRecord, 'os' | 'os_template' | 'description'>,
  overrides: Pick<InstanceOverrides, 'os_type' | 'distribution' | 'distribution_version'> = {},
): OsFacts {
  const name = os.trim() === '' ? os_template : os;
  const os_type = overrides.os_type ?? typeOf(name, description);
  const distribution = given(overrides.distribution) ?? distributionOf(name, os_type);
  const distribution_version = given(overrides.distribution_version) ?? versionOf(name, os_type, distribution);
  return { os_type, distribution, distribution_version };
}

/** Whether this version can be one of that system; the empty one always can. */
export function isVersionOf({ os_type, distribution, distribution_version }: OsFacts): boolean {
  if (distribution_version === '') return true;
  if (os_type === 'windows') return windowsVersions.some((version) => version === distribution_version);
  return (distribution === 'ubuntu' ? /^\d\d\.\d\d$/ : /^\d+$/).test(distribution_version);
}

/** Whether a system of this type can be this distribution. */
export function isDistributionOf(os_type: OsType, distribution: string): boolean {
  if (distribution === 'other') return true;
  return os_type === (distribution === 'freebsd' ? 'bsd' : 'linux');
}

function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function typeOf(name: string, description: string): OsType {
  if (/windows/i.test(name)) return 'windows';
  if (description.startsWith('FortiGate')) return 'fortigate';
  return /bsd/i.test(name) ? 'bsd' : 'linux';
}

function distributionOf(name: string, os_type: OsType): Distribution {
  if (os_type === 'bsd') return /freebsd/i.test(name) ? 'freebsd' : 'other';
  if (os_type !== 'linux') return 'other';
  return linuxNames.find(([, pattern]) => pattern.test(name))?.[0] ?? 'other';
}

function versionOf(name: string, os_type: OsType, distribution: string): string {
  if (os_type === 'windows') return windowsVersionOf(name);
  if (distribution === 'other' || distribution !== distributionOf(name, os_type)) return '';
  return (distribution === 'ubuntu' ? yearAndMonth : number).exec(name)?.[1] ?? '';
}

function windowsVersionOf(name: string): string {
  const [, year, release] = /\bserver\D{0,3}(\d{4})(?!\d)( ?R2\b)?/i.exec(name) ?? [];
  const said = year === undefined ? /\bwindows (\d+)\b/i.exec(name)?.[1] : `Server ${year}`;
  const version = windowsVersions.find((known) => known === (release === undefined ? said : `${said ?? ''} R2`));
  return version ?? windowsVersions.find((known) => known === said) ?? '';
}
