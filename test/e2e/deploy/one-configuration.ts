import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Composed } from './composed.ts';

type Part = Readonly<Record<string, unknown>>;

/**
 * Writes one `vmflow.yaml` from those of several rigs and what else is to be in it: sections of the same name are merged. Passwords
 * of the environment and files that are named become files among the secrets.
 */
export async function writeConfiguration(
  { configPath, secrets }: Composed,
  rigs: readonly { readonly configPath: string; readonly password?: string }[],
  more: Part,
): Promise<void> {
  const config: Record<string, unknown> = {};
  const merge = (part: Part): void => {
    for (const [name, section] of Object.entries(part))
      config[name] = isSection(section) ? { ...(config[name] as object | undefined), ...usable(section) } : section;
  };
  for (const [index, { configPath: path, password }] of rigs.entries()) {
    const secret = `password-${index}`;
    if (password !== undefined) await writeFile(join(secrets, secret), password, { mode: 0o600 });
    merge(await withSecrets(parse(await readFile(path, 'utf8')) as Part, secret, secrets));
  }
  merge(more);
  await writeFile(configPath, stringify(config));
}

/** Without the entries that some tests have to fail. */
const usable = (section: Part): Part =>
  Object.fromEntries(Object.entries(section).filter(([name]) => !name.startsWith('wrong-')));

const isSection = (value: unknown): value is Part =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

async function withSecrets(part: Part, password: string, dir: string): Promise<Part> {
  const entries = Object.entries(part).map(async ([key, value]): Promise<readonly [string, unknown]> => {
    const mounted = (name: string): string => `/etc/vmflow-secrets/${name}`;
    if (key === 'passwordEnv') return ['passwordFile', mounted(password)];
    if (isSection(value)) return [key, await withSecrets(value, password, dir)];
    if (!/(File|kubeconfig)$/.test(key) || typeof value !== 'string') return [key, value];
    await copyFile(value, join(dir, basename(value)));
    return [key, mounted(basename(value))];
  });
  return Object.fromEntries(await Promise.all(entries));
}
