import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Client } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, type LogLevel, type NativeConnection } from '@temporalio/worker';
import { searchKeys } from '../../workflows/contracts/attributes.ts';
import { freePort } from './processes.ts';
import { findTool } from './tool.ts';
import { tools } from './tools.ts';
import { guard, release } from './watchdog.ts';

/** Of indexed values in the API of the server. */
const typeNumbers = { KEYWORD: 2, DOUBLE: 4, BOOL: 5, DATETIME: 6 } as const;

/** Core gives it five seconds to answer, which a busy machine may need. */
const tries = 3;

/** A Temporal server whose clock is moved by the test. */
export interface TestServer {
  readonly namespace: string;
  /** Never moves the clock, whatever it waits for. */
  readonly client: Client;
  readonly connection: NativeConnection;
  /** Epoch milliseconds. The clock also runs by itself, as any other does. */
  now(): Promise<number>;
  /** What is due within this time happens in its order; an activity that runs meanwhile takes its real time. */
  advance(ms: number): Promise<void>;
  /**
   * What is under way keeps the clock to real time, and sometimes the server forgets that it is over: with a child that ends after
   * its parent, for one. Makes up for one such case; when there is none, the server fails.
   */
  freeClock(): Promise<void>;
  stop(): Promise<void>;
}

/** What workers and workflows of this process say. */
export interface ServerLog {
  readonly level: LogLevel;
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Starts a server with our search attributes; once per process, for the log is the process's. */
export async function startTestServer(hear: (line: ServerLog) => void = () => undefined): Promise<TestServer> {
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta = {} }) => hear({ level, message, facts: meta })),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } },
  });
  const path = await findTool(tools.temporalTestServer);
  const port = await freePort();
  const env = await started(path, port);
  const pid = await pidOf(port);
  if (pid !== undefined) guard(pid);
  const namespace = 'default';
  await env.connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(Object.values(searchKeys).map(({ name, type }) => [name, typeNumbers[type]])),
  });
  return {
    namespace,
    client: new Client({ connection: env.connection, namespace }),
    connection: env.nativeConnection,
    now: () => env.currentTimeMs(),
    advance: (ms) => env.sleep(ms),
    async freeClock() {
      await env.connection.testService?.unlockTimeSkipping({});
    },
    async stop() {
      await env.teardown();
      if (pid !== undefined) release(pid);
    },
  };
}

async function started(path: string, port: number, left = tries): Promise<TestWorkflowEnvironment> {
  try {
    return await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path }, port },
    });
  } catch (err) {
    if (left <= 1) throw new Error('The Temporal test server did not start.', { cause: err });
    return await started(path, port, left - 1);
  }
}

/** Core starts it, and would leave it behind where this process is killed. */
async function pidOf(port: number): Promise<number | undefined> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args=']);
  for (const line of stdout.split('\n')) {
    const [, pid, parent, args = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    if (Number(parent) === process.pid && args.endsWith(` ${port}`)) return Number(pid);
  }
  return undefined;
}
