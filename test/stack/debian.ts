import { execFile } from 'node:child_process';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDir } from './cache-dir.ts';
import { withLock } from './lock.ts';

const run = promisify(execFile);

/** apt waits this long for another apt to finish; a first `apt-get update` may be slow. */
const aptOptions = ['-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300'];

export interface DebianHost {
  readonly env: NodeJS.ProcessEnv;
  readonly isRoot: boolean;
}

const thisHost = (): DebianHost => ({ env: process.env, isRoot: process.getuid?.() === 0 });

/** Like `debianPackagesMissing`: false, with the reason on stderr, where they can't be installed. */
export async function ensureDebianPackage(names: readonly string[]): Promise<boolean> {
  const reason = await debianPackagesMissing(names);
  if (reason !== undefined) process.stderr.write(`${reason}\n`);
  return reason === undefined;
}

/**
 * Makes sure that these Debian packages are installed. The reason where that is not possible: no apt, not root, or the package
 * can't be had. Of several processes that ask at once, one installs and the others wait for it.
 */
export async function debianPackagesMissing(
  names: readonly string[],
  host: DebianHost = thisHost(),
): Promise<string | undefined> {
  const missing = await withoutInstalled(names, host.env);
  if (missing === undefined) return no(names, 'this is no Debian system');
  if (missing.length === 0) return undefined;
  if (!host.isRoot) return no(missing, `only root may: run "apt-get install ${missing.join(' ')}"`);
  const dir = cacheDir(host.env);
  await mkdir(dir, { recursive: true });
  return withLock(
    join(dir, 'apt.lock'),
    () => installMissing(names, host.env),
    () => process.stderr.write('Another process is installing Debian packages; waiting for it.\n'),
  );
}

/** Looks again: whoever had the lock before may have installed them. */
async function installMissing(names: readonly string[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const missing = (await withoutInstalled(names, env)) ?? names;
  if (missing.length === 0) return undefined;
  process.stderr.write(`Installing Debian packages: ${missing.join(', ')}.\n`);
  try {
    await install(missing, env).catch(async () => {
      await run('apt-get', ['update'], { env }); // the lists are old or missing
      await install(missing, env);
    });
    return undefined;
  } catch (error) {
    return no(missing, error instanceof Error ? error.message : String(error));
  }
}

async function install(names: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const quiet = { ...env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['install', ...aptOptions, ...names], { env: quiet, maxBuffer: 16 * 1024 * 1024 });
}

/**
 * Unpacks a Debian package into this folder instead of installing it: nobody starts the service that comes with it, and nobody has to be
 * root. Fails with the reason where it can't be had.
 */
export async function unpackDebianPackage(name: string, folder: string, host: DebianHost = thisHost()): Promise<void> {
  const { env } = host;
  const partial = `${folder}.${process.pid}`;
  await mkdir(partial, { recursive: true });
  const download = (): Promise<unknown> => run('apt-get', ['download', name], { cwd: partial, env });
  try {
    process.stderr.write(`Fetching the Debian package ${name}, kept for later runs.\n`);
    await download().catch(async (error: unknown) => {
      if (!host.isRoot) throw error;
      await run('apt-get', ['update'], { env }); // the lists are old or missing
      await download();
    });
    const file = (await readdir(partial)).find((entry) => entry.endsWith('.deb')) ?? '';
    await run('dpkg-deb', ['-x', join(partial, file), partial], { env });
    await rm(join(partial, file));
    await rename(partial, folder);
  } catch (error) {
    throw new Error(no([name], error instanceof Error ? error.message : String(error)), { cause: error });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** Undefined where there is no dpkg. */
async function withoutInstalled(names: readonly string[], env: NodeJS.ProcessEnv): Promise<string[] | undefined> {
  const missing: string[] = [];
  for (const name of names) {
    try {
      const { stdout } = await run('dpkg-query', ['-W', '-f', '${Status}', name], { env });
      if (!stdout.endsWith('ok installed')) missing.push(name);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      missing.push(name); // unknown to dpkg
    }
  }
  return missing;
}

function no(names: readonly string[], reason: string): string {
  return `Debian packages ${names.join(', ')} are not installed: ${reason}.`;
}
