import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import {
  createTally,
  filesToRunAgain,
  isRandomRun,
  passedOnlyAgain,
  settled,
  type FileOutcome,
  type Outcomes,
} from '../../support/second-chances.ts';

const outcome = (passed: number, failures: readonly string[] = [], skipped = 0): FileOutcome => ({
  passed,
  failed: failures.length,
  skipped,
  failures,
});
const good = outcome(3);
const bad = outcome(2, ['a test']);

function outcomes(files: Readonly<Record<string, FileOutcome>>): Outcomes {
  return new Map(Object.entries(files));
}

/** So many files with failures, and one without. */
function broken(count: number): Outcomes {
  return outcomes({
    'test/good.test.ts': good,
    ...Object.fromEntries(Array.from({ length: count }, (_, n) => [`test/bad-${n}.test.ts`, bad])),
  });
}

describe('files that are run again', () => {
  test('are those with failures', () => {
    assert.deepEqual(filesToRunAgain(broken(0)), []);
    assert.deepEqual(filesToRunAgain(broken(2)), ['test/bad-0.test.ts', 'test/bad-1.test.ts']);
  });

  test('are six at most: more failures than that are no accident', () => {
    assert.equal(filesToRunAgain(broken(6)).length, 6);
    assert.deepEqual(filesToRunAgain(broken(7)), []);
  });

  test('are none with random runs: what these find counts', () => {
    const random = [
      'test/crash/vmop/chaos.test.ts',
      'test/unit/x/property.test.ts',
      'test/unit/x/some-chaos-y.test.ts',
    ];
    const found = outcomes({ ...Object.fromEntries(random.map((file) => [file, bad])), 'test/a.test.ts': bad });
    assert.deepEqual(filesToRunAgain(found), ['test/a.test.ts']);
    assert.equal(isRandomRun('test/property/plain.test.ts'), false);
  });

  test('with random runs are all known', async () => {
    for await (const file of glob('test/**/*.test.ts')) {
      const isRandom = /from '(fast-check|[^']*\/vm-chaos\.ts)'/.test(await readFile(file, 'utf8'));
      if (isRandom) assert.ok(isRandomRun(file), `${file} has random runs: add it to the list`);
    }
  });
});

describe('what counts', () => {
  const first = outcomes({ 'a.test.ts': bad, 'b.test.ts': good });
  for (const [title, second, totals, remarks] of [
    [
      'is the second run where that passes, and it is said',
      outcome(3),
      { passed: 6, failed: 0, skipped: 0 },
      ['passed only when run again:', '  a.test.ts', '    ✖ a test'],
    ],
    ['is the second run where that fails, too', outcome(1, ['x', 'y']), { passed: 4, failed: 2, skipped: 0 }, []],
    ['is the first run where nothing ran in the second', outcome(0), { passed: 5, failed: 1, skipped: 0 }, []],
    ['is the first run where the second skipped', outcome(2, [], 1), { passed: 5, failed: 1, skipped: 0 }, []],
  ] as const) {
    test(title, () => {
      const again = outcomes({ 'a.test.ts': second });
      assert.deepEqual(settled(first, again), totals);
      assert.deepEqual(passedOnlyAgain(first, again), remarks);
    });
  }

  test('is the only run of a file that is not run again', () => {
    assert.deepEqual(settled(first, new Map()), { passed: 5, failed: 1, skipped: 0 });
    assert.deepEqual(passedOnlyAgain(first, new Map()), []);
  });

  test('are tests: neither suites, nor files, nor what only repeats that a test in it failed', () => {
    const tally = createTally(['a', 'b']);
    const passed = { isSuite: false, isSkipped: false };
    tally.add('a', { ...passed, name: 'one' });
    tally.add('a', { ...passed, name: 'later', isSkipped: true });
    tally.add('a', { ...passed, name: 'two', failureType: 'testCodeFailure' });
    tally.add('a', { ...passed, name: 'a suite', isSuite: true });
    tally.add('a', { ...passed, name: 'a suite', isSuite: true, failureType: 'subtestsFailed' });
    tally.add('a', { ...passed, name: 'a' });
    tally.add('b', { ...passed, name: 'b', failureType: 'testCodeFailure' });
    assert.deepEqual(Object.fromEntries(tally.outcomes()), {
      a: { passed: 1, failed: 1, skipped: 1, failures: ['two'] },
      b: { passed: 0, failed: 1, skipped: 0, failures: ['b'] },
    });
  });
});

test('files are run: one whose accident does not repeat passes and is told of, one that is broken fails twice', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-second-chances-'));
  try {
    const head = `import { existsSync, writeFileSync } from 'node:fs';\nimport { test } from 'node:test';\n`;
    const busy = `test('in a hurry', () => {
      if (existsSync('seen')) return;
      writeFileSync('seen', '');
      throw new Error('too slow');
    });`;
    await writeFile(join(dir, 'define.mjs'), `${head}export const define = (name) => test(name, () => {});`);
    await writeFile(join(dir, 'busy.test.mjs'), `${head}${busy}\ntest('steady', () => {});`);
    await writeFile(join(dir, 'fine.test.mjs'), `import { define } from './define.mjs';\ndefine('written elsewhere');`);
    const runner = pathToFileURL(join(import.meta.dirname, '../../support/run-files.ts')).href;
    const files = ['busy.test.mjs', 'fine.test.mjs'];
    const script = `import { runFiles } from '${runner}';
      console.log(JSON.stringify(await runFiles(${JSON.stringify(files)}, [])));`;
    await writeFile(join(dir, 'run.mjs'), script);
    const passing = await runNode(dir, 'run.mjs');
    assert.deepEqual(JSON.parse(lastLine(passing)), {
      totals: { passed: 3, failed: 0, skipped: 0 },
      remarks: ['passed only when run again:', '  busy.test.mjs', '    ✖ in a hurry'],
    });
    assert.match(passing, /✖ in a hurry[^]*run again, alone: busy\.test\.mjs[^]*✔ in a hurry/);

    await writeFile(join(dir, 'busy.test.mjs'), `${head}test('broken', () => { throw new Error('always'); });`);
    const failing = await runNode(dir, 'run.mjs');
    assert.deepEqual(JSON.parse(lastLine(failing)), { totals: { passed: 1, failed: 1, skipped: 0 }, remarks: [] });
    assert.match(failing, /✖ broken[^]*run again, alone[^]*✖ broken/);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

/** In a process that does not take itself for a test file. */
async function runNode(cwd: string, script: string): Promise<string> {
  const env = { ...process.env };
  delete env['NODE_TEST_CONTEXT'];
  return (await promisify(execFile)(process.execPath, [script], { cwd, env })).stdout;
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
