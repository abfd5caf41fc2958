import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** apt waits this long for another apt to finish; a first `apt-get update` may be slow. */
const aptOptions = ['-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300'];

/**
 * Makes sure that these Debian packages are installed. False, with the reason on stderr, where that is not possible: no apt,
 * not root, or the package can't be had.
 */
export async function ensureDebianPackage(names: readonly string[]): Promise<boolean> {
  const missing = await withoutInstalled(names);
  if (missing === undefined) return no(names, 'this is no Debian system');
  if (missing.length === 0) return true;
  if (process.getuid?.() !== 0) return no(missing, `only root may: run "apt-get install ${missing.join(' ')}"`);
  process.stderr.write(`Installing Debian packages: ${missing.join(', ')}.\n`);
  try {
    await install(missing).catch(async () => {
      await run('apt-get', ['update']); // the lists are old or missing
      await install(missing);
    });
    return true;
  } catch (error) {
    return no(missing, error instanceof Error ? error.message : String(error));
  }
}

async function install(names: readonly string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['install', ...aptOptions, ...names], { env, maxBuffer: 16 * 1024 * 1024 });
}

/** Undefined where there is no dpkg. */
async function withoutInstalled(names: readonly string[]): Promise<string[] | undefined> {
  const missing: string[] = [];
  for (const name of names) {
    try {
      const { stdout } = await run('dpkg-query', ['-W', '-f', '${Status}', name]);
      if (!stdout.endsWith('ok installed')) missing.push(name);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      missing.push(name); // unknown to dpkg
    }
  }
  return missing;
}

function no(names: readonly string[], reason: string): false {
  process.stderr.write(`Debian packages ${names.join(', ')} are not installed: ${reason}.\n`);
  return false;
}
