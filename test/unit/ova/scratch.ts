import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A directory of the test's own that goes away with it. */
export async function scratchDir(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-ova-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}
