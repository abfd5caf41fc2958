import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { writeBundle } from './bundle.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Compiles everything that is shipped into `dist/` and bundles the workflows. */
rmSync(at('../dist'), { recursive: true, force: true });
execFileSync(process.execPath, [at('../node_modules/typescript/bin/tsc'), '-p', at('./tsconfig.build.json')], {
  stdio: 'inherit',
});
await writeBundle(at('../dist/workers/workflow-bundle.js'));
const cli = at('../dist/client/cli.js');
if (existsSync(cli)) chmodSync(cli, 0o755);
