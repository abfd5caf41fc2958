import { glob, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { recordHistories } from './replay/record.ts';
import { startTemporal, type TemporalServer } from './stack/temporal.ts';
import { findTool } from './stack/tool.ts';
import { tools } from './stack/tools.ts';
import type { Totals } from './support/second-chances.ts';
import { scenarioReport, scenarioSets, type TestSource } from './support/scenarios.ts';
import { neededTools, type ToolName } from './support/needed-tools.ts';
import { runFiles, type RunResult } from './support/run-files.ts';
import { parseArguments, selectFiles, type Selection, titlePattern } from './support/selection.ts';

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
  const { totals, remarks } = await runWithTemporal(runnable, needs, selection);
  return report({ ...totals, skipped: totals.skipped + files.length - runnable.length }, remarks);
}

function report({ passed, failed, skipped }: Totals, remarks: readonly string[]): number {
  if (remarks.length > 0) console.log(`\n${remarks.join('\n')}\n`);
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
): Promise<RunResult> {
  let temporal: TemporalServer | undefined;
  if (files.some((file) => needs.get(file)?.has('temporal')) && !process.env['VMFLOW_TEST_TEMPORAL']) {
    temporal = await startTemporal();
    process.env['VMFLOW_TEST_TEMPORAL'] = temporal.address;
  }
  try {
    const result = await runFiles(files, selection.titles.map(titlePattern));
    if (selection.record && temporal !== undefined) await record(temporal);
    return result;
  } finally {
    await temporal?.stop();
  }
}

async function record({ address, namespace }: TemporalServer): Promise<void> {
  const added = await recordHistories(address, namespace);
  console.log(added.length === 0 ? 'No new path to record.' : `Recorded: ${added.join(', ')}.`);
}
