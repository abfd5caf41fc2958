import { execFile } from 'node:child_process';
import { glob, readFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { promisify } from 'node:util';
import { recordHistories } from './replay/record.ts';
import { startTemporal, type TemporalServer } from './stack/temporal.ts';
import { findTool } from './stack/tool.ts';
import { tools } from './stack/tools.ts';
import { scenarioReport, scenarioSets, type TestSource } from './support/scenarios.ts';
import { neededTools, type ToolName } from './support/needed-tools.ts';
import { parseArguments, selectFiles, type Selection, titlePattern } from './support/selection.ts';

const budgets = {
  /** A crash scenario with its heartbeat time-outs takes a minute or two; a test that takes this long hangs. */
  testMs: 5 * 60_000,
  /** A file with a dozen of these takes minutes; one that takes this long blocks its own event loop. */
  fileMs: 20 * 60_000,
  /** Stopping servers takes seconds; a file whose tests have been over for this long has left something open. */
  lingerMs: 60_000,
  /** Files at once: more only makes the machine's two cores the bottleneck of every wait. */
  files: 2,
} as const;

interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const root = resolve(import.meta.dirname, '..');
process.chdir(root);
process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const selection = parseArguments(args);
  const sources = await testSources();
  if (selection.listScenarios) {
    console.log(scenarioReport(scenarioSets, sources));
    return 0;
  }
  const files = selectFiles(selection, sources);
  if (files.length === 0) {
    console.error(`No test file matches ${args.join(' ')}.`);
    return 1;
  }
  if (selection.cacheZero) process.env['VMFLOW_TEST_CACHE'] = '0';
  const needs = new Map<string, ReadonlySet<ToolName>>();
  for (const file of files) needs.set(file, await neededTools(file));
  const missing = await missingTools(new Set([...needs.values()].flatMap((names) => [...names])));
  const runnable = files.filter((file) => {
    const reason = [...(needs.get(file) ?? [])].map((name) => missing.get(name)).find((text) => text !== undefined);
    if (reason !== undefined) console.log(`﹣ ${file} # SKIP ${reason}`);
    return reason === undefined;
  });
  const totals = await runWithTemporal(runnable, needs, selection);
  return report({ ...totals, skipped: totals.skipped + files.length - runnable.length });
}

function report({ passed, failed, skipped }: Totals): number {
  if (passed + failed + skipped === 0) console.error('No test matches.');
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed > 0 || passed + skipped === 0 ? 1 : 0;
}

async function testSources(): Promise<TestSource[]> {
  const files: string[] = [];
  for await (const file of glob('test/**/*.test.ts')) files.push(file);
  files.sort();
  return Promise.all(files.map(async (file) => ({ file, text: await readFile(file, 'utf8') })));
}

/** Finds or builds the tools before the first test needs one; why that is not possible here, for those where it isn't. */
async function missingTools(names: ReadonlySet<ToolName>): Promise<ReadonlyMap<ToolName, string>> {
  const missing = new Map<ToolName, string>();
  for (const name of names) {
    try {
      await findTool(tools[name]);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      console.error(reason);
      missing.set(name, reason.split('\n')[0] ?? '');
    }
  }
  return missing;
}

/** One Temporal server for the whole run: files keep apart by task queue and workflow ids. */
async function runWithTemporal(
  files: readonly string[],
  needs: ReadonlyMap<string, ReadonlySet<ToolName>>,
  selection: Selection,
): Promise<Totals> {
  let temporal: TemporalServer | undefined;
  if (files.some((file) => needs.get(file)?.has('temporal')) && !process.env['VMFLOW_TEST_TEMPORAL']) {
    temporal = await startTemporal();
    process.env['VMFLOW_TEST_TEMPORAL'] = temporal.address;
  }
  try {
    const totals = await runFiles(files, selection);
    if (selection.record && temporal !== undefined) await record(temporal);
    return totals;
  } finally {
    await temporal?.stop();
  }
}

async function record({ address, namespace }: TemporalServer): Promise<void> {
  const added = await recordHistories(address, namespace);
  console.log(added.length === 0 ? 'No new path to record.' : `Recorded: ${added.join(', ')}.`);
}

async function runFiles(files: readonly string[], selection: Selection): Promise<Totals> {
  if (files.length === 0) return { passed: 0, failed: 0, skipped: 0 };
  const stream = run({
    files: files.map((file) => resolve(file)),
    concurrency: budgets.files,
    timeout: budgets.testMs,
    ...(selection.titles.length > 0 ? { testNamePatterns: selection.titles.map(titlePattern) } : {}),
  });
  const totals = { passed: 0, failed: 0, skipped: 0 };
  stream.on('test:pass', ({ name, details, skip, todo }) => {
    if (skip !== undefined || todo !== undefined) totals.skipped += 1;
    else if (details.type !== 'suite' && !files.includes(relative(root, name))) totals.passed += 1;
  });
  stream.on('test:fail', ({ details, todo }) => {
    if (todo !== undefined) totals.skipped += 1;
    else if (causeOf(details.error) !== 'subtestsFailed') totals.failed += 1;
  });
  killOverdue(stream, files);
  for await (const line of stream.compose(spec)) process.stdout.write(String(line));
  return totals;
}

/** Why node:test says that a test failed, e.g. `testCodeFailure`; a suite or file only repeats `subtestsFailed`. */
function causeOf(error: object): unknown {
  return 'failureType' in error ? error.failureType : undefined;
}

/** Node limits the time of tests only: a file that never ends, by a busy loop or by what it left open, is ended here. */
function killOverdue(stream: ReturnType<typeof run>, files: readonly string[]): void {
  const isFile = (name: string): boolean => files.includes(relative(root, name));
  const ends = new Map<string, NodeJS.Timeout>();
  const lingers = new Map<string, NodeJS.Timeout>();
  const open = new Map<string, number>();
  stream.on('test:dequeue', ({ name, file }) => {
    if (isFile(name)) {
      ends.set(name, killAfter(name, budgets.fileMs, `is not done after ${budgets.fileMs / 60_000} minutes`));
    } else if (file !== undefined) {
      open.set(file, (open.get(file) ?? 0) + 1);
      clearTimeout(lingers.get(file));
    }
  });
  stream.on('test:complete', ({ name, file }) => {
    if (isFile(name)) {
      clearTimeout(ends.get(name));
      clearTimeout(lingers.get(name));
    } else if (file !== undefined) {
      const left = (open.get(file) ?? 0) - 1;
      open.set(file, left);
      if (left === 0) {
        const why = `doesn't end although its tests have: it left a connection, timer or server open`;
        lingers.set(file, killAfter(file, budgets.lingerMs, why));
      }
    }
  });
}

function killAfter(file: string, ms: number, why: string): NodeJS.Timeout {
  return setTimeout(() => void killFile(file, why), ms);
}

async function killFile(file: string, why: string): Promise<void> {
  console.error(`${relative(root, file)} ${why}. It is killed.`);
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']);
  for (const line of stdout.split('\n')) {
    const [, pid, parent, args = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    if (Number(parent) === process.pid && args.endsWith(file)) process.kill(Number(pid), 'SIGKILL');
  }
}
