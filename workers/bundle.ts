import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

const prebuilt = fileURLToPath(new URL('./workflow-bundle.js', import.meta.url));
const sources = fileURLToPath(new URL('../workflows', import.meta.url));
const cache = fileURLToPath(new URL('../node_modules/.cache/vmflow', import.meta.url));

/** What is put around every workflow. A worker that starts from a bundle takes them from there and nowhere else. */
const interceptors = ['early-query.ts', 'trace-header.ts', 'operation-metrics.ts'];

/** Path of the workflow bundle: the prebuilt one beside compiled code; from sources one is made once per state of the sources. */
export async function workflowBundlePath(): Promise<string> {
  if (existsSync(prebuilt)) return prebuilt;
  const path = join(cache, `workflow-bundle-${await digestOf(sources)}.js`);
  if (!existsSync(path)) await writeBundle(path);
  return path;
}

/** Bundles the workflows into one file; written beside and renamed, so that nobody reads half of it. */
export async function writeBundle(path: string): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(sources, 'index.ts'),
    workflowInterceptorModules: interceptors.map((name) => join(sources, name)),
    logger: quiet,
  });
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, code);
  await rename(draft, path);
}

async function digestOf(folder: string): Promise<string> {
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts')).sort();
  const hash = createHash('sha256');
  for (const name of files) hash.update(name).update(await readFile(join(folder, name)));
  return hash.digest('hex').slice(0, 16);
}

const ignore = (): void => undefined;
const quiet = { log: ignore, trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };
