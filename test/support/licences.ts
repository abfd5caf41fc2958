import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Where the list of what is shipped with vmflow lies. */
export const licenceList = join(root, 'workers/deploy/security/dependencies.txt');

interface Locked {
  readonly version?: string;
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

interface Manifest {
  readonly name: string;
  readonly license?: string | { readonly type: string };
}

/** They say it in their file LICENSE alone. */
const toldElsewhere: Readonly<Record<string, string>> = { unionfs: 'Unlicense' };

/** Packages that run in production, one per line: name, version, licence as its package says it. */
export async function licences(): Promise<string[]> {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>;
  };
  // What is for one kind of machine only is here or not; its neutral part, with the same licence, is in the list.
  const shipped = Object.entries(packages).filter(
    ([path, { dev, os, cpu }]) => path !== '' && dev !== true && os === undefined && cpu === undefined,
  );
  const lines = await Promise.all(
    shipped.map(async ([path, { version }]) => {
      const { name, license } = JSON.parse(await readFile(join(root, path, 'package.json'), 'utf8')) as Manifest;
      const said = typeof license === 'object' ? license.type : license;
      return `${name} ${version ?? ''} ${said ?? toldElsewhere[name] ?? 'unknown'}`;
    }),
  );
  return [...new Set(lines)].sort();
}
