import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

/** Of this very file: `.ts` from sources, `.js` when compiled. */
const ending = extname(import.meta.url);
const sources = fileURLToPath(new URL('../workflows', import.meta.url));
const cache = fileURLToPath(new URL('../node_modules/.cache/vmflow', import.meta.url));

/** The module that makes failures encodable; for bundles, and for what runs outside of them. */
export const failureConverterPath = fileURLToPath(new URL(`../workflows/encoded-failures${ending}`, import.meta.url));

/** There is one for workers without a codec, and one whose failures are encoded. */
export const bundleNames = { plain: 'workflow-bundle', encoded: 'workflow-bundle-encoded' } as const;
export type BundleKind = keyof typeof bundleNames;
/** What is put around every workflow. A worker that starts from a bundle takes them from there and nowhere else. */
const interceptors = ['early-query.ts', 'trace-header.ts', 'operation-metrics.ts'];

/** Path of the workflow bundle: the prebuilt one beside compiled code; from sources one is made once per state of the sources. */
export async function workflowBundlePath(kind: BundleKind = 'plain'): Promise<string> {
  const prebuilt = fileURLToPath(new URL(`./${bundleNames[kind]}.js`, import.meta.url));
  if (existsSync(prebuilt)) return prebuilt;
  const path = join(cache, `${bundleNames[kind]}-${await digestOf(sources)}.js`);
  if (!existsSync(path)) await writeBundle(path, kind);
  return path;
}

/** Bundles the workflows into one file; written beside and renamed, so that nobody reads half of it. */
export async function writeBundle(path: string, kind: BundleKind): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(sources, 'index.ts'),
    workflowInterceptorModules: interceptors.map((name) => join(sources, name)),
    // Evaluated once and frozen, not once per workflow: half the memory and CPU of each. They hold no state (a test says so).
    preloadModules: ['index.ts', ...interceptors].map((name) => join(sources, name)),
    ...(kind === 'encoded' ? { failureConverterPath: join(sources, 'encoded-failures.ts') } : {}),
    logger: quiet,
  });
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, code);
  await rename(draft, path);
}

async function digestOf(folder: string): Promise<string> {
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts')).sort();
  // How it is bundled counts too.
  const hash = createHash('sha256').update(await readFile(fileURLToPath(import.meta.url)));
  for (const name of files) hash.update(name).update(await readFile(join(folder, name)));
  return hash.digest('hex').slice(0, 16);
}

const ignore = (): void => undefined;
const quiet = { log: ignore, trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };
