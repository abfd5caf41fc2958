import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findTool } from '../stack/tool.ts';
import { tools } from '../stack/tools.ts';
import { historiesDir, pathOf, recordedHistories, type HistoryEvent } from './histories.ts';

const run = promisify(execFile);
/** Where chance decides the order there are more paths than anybody can keep. */
const mostOfType = 40;
const largest = 64 * 1024 * 1024;

/** Keys whose values are of one machine and one moment, and that no replay looks at. */
const leftOut = new Set(['stackTrace', 'identity', 'workerVersion', 'meteringMetadata', 'binaryChecksum']);

/** Adds the closed workflows, and those that stay open, of a namespace whose path has not been recorded yet to the recorded histories. */
export async function recordHistories(address: string, namespace: string): Promise<string[]> {
  const binary = await findTool(tools.temporal);
  const temporal = async (...args: string[]): Promise<unknown> => {
    const { stdout } = await run(
      binary,
      ['workflow', ...args, '--address', address, '--namespace', namespace, '-o', 'json'],
      { maxBuffer: largest },
    );
    return JSON.parse(stdout);
  };
  await mkdir(historiesDir, { recursive: true });
  const ofType = new Map<string, number>();
  for (const { history } of await recordedHistories()) {
    const type = pathOf(history.events)[0] ?? '';
    ofType.set(type, (ofType.get(type) ?? 0) + 1);
  }
  const known = new Set((await recordedHistories()).map(({ history }) => keyOf(history.events)));
  // A coordinator stays open as long as its VM has work now and then, and so does the gate.
  const query =
    "ExecutionStatus != 'Running' OR WorkflowType IN ('vmCoordinator', 'migrationGate', 'batch', 'batchShard', 'migration', 'slots')";
  const executions = (await temporal('list', '--query', query, '--limit', '5000')) as {
    execution: { workflowId: string; runId: string };
  }[];
  const added: string[] = [];
  for (const { execution } of executions) {
    const history = (await temporal('show', '--workflow-id', execution.workflowId, '--run-id', execution.runId)) as {
      events: HistoryEvent[];
    };
    const key = keyOf(history.events);
    const type = pathOf(history.events)[0] ?? '';
    if (known.has(key) || isTooLong(history.events) || (ofType.get(type) ?? 0) >= mostOfType) continue;
    known.add(key);
    ofType.set(type, (ofType.get(type) ?? 0) + 1);
    const name = nameOf(history.events, key);
    const record = { workflowId: execution.workflowId, path: pathOf(history.events), history: clean(history) };
    await writeFile(join(historiesDir, `${name}.json`), `${JSON.stringify(record)}\n`);
    added.push(name);
  }
  return added;
}

function keyOf(events: readonly HistoryEvent[]): string {
  return createHash('sha256').update(pathOf(events).join('\n')).digest('hex').slice(0, 8);
}

function isTooLong(events: readonly HistoryEvent[]): boolean {
  return events.length > 400;
}

function nameOf(events: readonly HistoryEvent[], key: string): string {
  const path = pathOf(events);
  const end = path.at(-1)?.replace('workflow_execution_', '') ?? 'open';
  return `${path[0] ?? 'unknown'}-${end}-${key}`;
}

function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clean);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !leftOut.has(key))
      .map(([key, child]) => [key, clean(child)]),
  );
}
