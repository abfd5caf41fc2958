import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { WorkflowHandle } from '@temporalio/client';
import type { TemporalUnderTest } from './shared-temporal.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const parts = ['workflows', 'activities', 'workers', 'client', 'test/replay', 'package.json', 'tsconfig.json'];

/** In a workflow's file: where a later release does something more. */
export interface Edit {
  readonly file: string;
  /** The line after which it does, as it stands there. */
  readonly after: string;
}

/** The patch of the release that keeps what was there before. */
export const patchId = 'of-the-next-release';

/** These sources, changed as a later release would be: its workflows have a timer more in each place. */
export class NextRelease {
  readonly dir: string;

  private constructor(dir: string) {
    this.dir = dir;
  }

  /** @param how `patched`: runs that are under way go on as they were; `careless`: they can't. */
  static async make(edits: readonly Edit[], how: 'patched' | 'careless'): Promise<NextRelease> {
    const dir = await mkdtemp(join(tmpdir(), 'vmflow-next-'));
    for (const part of parts) await cp(join(root, part), join(dir, part), { recursive: true });
    await symlink(join(root, 'node_modules'), join(dir, 'node_modules'));
    for (const { file, after } of edits) {
      const path = join(dir, file);
      const text = await readFile(path, 'utf8');
      if (text.split(after).length !== 2) throw new Error(`"${after}" stands not once in ${file}: adapt the test`);
      const more = how === 'patched' ? `if (nextPatched('${patchId}')) await nextSleep(1);` : 'await nextSleep(1);';
      const imports = "import { patched as nextPatched, sleep as nextSleep } from '@temporalio/workflow';\n";
      await writeFile(path, `${imports}${text.replace(after, () => `${after}\n${more}`)}`);
    }
    return new NextRelease(dir);
  }

  /** `npm run replay` of this release: its exit code and what it says. */
  async replay(env: Readonly<Record<string, string>>): Promise<{ readonly exit: number; readonly text: string }> {
    const script = join(this.dir, 'test/replay/live.ts');
    return await new Promise((resolve) => {
      execFile(process.execPath, [script], { env: { ...process.env, ...env } }, (error, stdout, stderr) =>
        resolve({ exit: error === null ? 0 : Number(error.code), text: stdout + stderr }),
      );
    });
  }

  async remove(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }
}

/**
 * A next release that replays everything that is under way there. A careless one is found before: it would break workflows whose ids
 * begin with each of these.
 */
export async function provenRelease(
  t: TestContext,
  { address, namespace }: Pick<TemporalUnderTest, 'address' | 'namespace'>,
  edits: readonly Edit[],
  broken: readonly string[],
): Promise<NextRelease> {
  const env = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
  const [careless, next] = await Promise.all([NextRelease.make(edits, 'careless'), NextRelease.make(edits, 'patched')]);
  t.after(() => Promise.all([careless.remove(), next.remove()]));
  const found = await careless.replay(env);
  assert.equal(found.exit, 1, found.text);
  for (const ids of broken) assert.match(found.text, new RegExp(`^${ids}/.*Nondeterminism`, 'm'));
  const good = await next.replay(env);
  assert.equal(good.exit, 0, good.text);
  assert.match(good.text, /(\d+) of \1 histories/);
  return next;
}

/** This workflow has done what the next release does more. */
export async function isOfNextRelease(handle: WorkflowHandle): Promise<boolean> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).some((event) => event.markerRecordedEventAttributes?.markerName === 'core_patch');
}
