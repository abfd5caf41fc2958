import { randomUUID } from 'node:crypto';
import { readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Leftovers of downloads nobody came back to. */
const abandonedMs = 3 * 24 * 3_600_000;
const suffix = '.part';

/** A download in progress: a file of a unique name, and beside it what is needed to go on with it later. */
export interface PartialFile {
  readonly path: string;
  readonly resume?: { readonly size: number; readonly validator: string };
}

const notePath = (path: string): string => `${path}.validator`;

export const newPartial = (cacheDir: string, name: string): PartialFile => ({
  path: join(cacheDir, `${name}.${randomUUID()}${suffix}`),
});

/** Takes over what an earlier attempt has left, under a new name, so that a writer believed dead can't write into it unnoticed. */
export async function adoptPartial(cacheDir: string, name: string): Promise<PartialFile> {
  const fresh = newPartial(cacheDir, name);
  for (const old of (await readdir(cacheDir)).filter((file) => file.startsWith(`${name}.`) && file.endsWith(suffix))) {
    const path = join(cacheDir, old);
    const validator = await readFile(notePath(path), 'utf8').catch(() => undefined);
    const size = (await stat(path).catch(() => undefined))?.size ?? 0;
    if (validator === undefined || size === 0) {
      await removePartial({ path });
      continue;
    }
    await rename(path, fresh.path);
    await rename(notePath(path), notePath(fresh.path));
    return { path: fresh.path, resume: { size, validator } };
  }
  return fresh;
}

export const noteValidator = (partial: PartialFile, validator: string): Promise<void> =>
  writeFile(notePath(partial.path), validator, { mode: 0o600 });

export async function removePartial(partial: PartialFile): Promise<void> {
  await rm(partial.path, { force: true });
  await rm(notePath(partial.path), { force: true });
}

/** Moves the finished download to its place. */
export async function publishPartial(partial: PartialFile, path: string): Promise<void> {
  await rename(partial.path, path);
  await rm(notePath(partial.path), { force: true });
}

export async function removeAbandoned(cacheDir: string): Promise<void> {
  for (const file of (await readdir(cacheDir)).filter((name) => name.endsWith(suffix))) {
    const path = join(cacheDir, file);
    const info = await stat(path).catch(() => undefined);
    if (info !== undefined && Date.now() - info.mtimeMs > abandonedMs) await removePartial({ path });
  }
}
