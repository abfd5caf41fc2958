import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleNames, writeBundle } from './bundle.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Compiles everything that is shipped into `dist/` and bundles the workflows. */
rmSync(at('../dist'), { recursive: true, force: true });
execFileSync(process.execPath, [at('../node_modules/typescript/bin/tsc'), '-p', at('./tsconfig.build.json')], {
  stdio: 'inherit',
});
for (const kind of ['plain', 'encoded'] as const)
  await writeBundle(at(`../dist/workers/${bundleNames[kind]}.js`), kind);
const cli = at('../dist/client/cli.js');
if (existsSync(cli)) chmodSync(cli, 0o755);
