/** What the tools in a guest say of its system; everything empty where they say nothing. */
export interface GuestData {
  readonly os: string;
  readonly description: string;
  /** Incus' name of it. */
  readonly architecture: string;
}

/** Where the tools put it among the VM's options. */
export const guestDataKey = 'guestInfo.detailed.data';

/** Reads `architecture='X86' bitness='64' distroName='Ubuntu' distroVersion='22.04' prettyName='Ubuntu 22.04.4 LTS'`. */
export function parseGuestData(text: string): GuestData {
  const said = new Map(
    [...text.matchAll(/(\w+)='((?:[^'\\]|\\.)*)'/g)].map(([, key = '', value = '']) => [
      key,
      value.replace(/\\(.)/g, '$1').trim(),
    ]),
  );
  const get = (key: string): string => said.get(key) ?? '';
  const description = get('prettyName');
  return {
    os: osName(get('distroName'), get('distroVersion'), description),
    description,
    architecture: architectureOf(get('architecture'), get('bitness')),
  };
}

/**
 * Name and version: a system is chosen by both. Windows tells its kernel's version under `distroVersion`, which is the same for
 * several releases; the release is in front of its pretty name (`Windows Server 2022, 64-bit (Build 20348)`).
 */
function osName(name: string, version: string, pretty: string): string {
  if (/windows/i.test(name)) return /\d/.test(name) || !/windows/i.test(pretty) ? name : (pretty.split(',')[0] ?? name);
  return name === '' || version === '' || name.includes(version) ? name : `${name} ${version}`;
}

function architectureOf(family: string, bits: string): string {
  if (family === 'X86') return bits === '32' ? 'i686' : 'x86_64';
  if (family === 'Arm') return bits === '32' ? 'armv8l' : 'aarch64';
  return '';
}
