import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { searchKeys } from '../../workflows/contracts/attributes.ts';
import { freePort, startProcess, type Exit, type SupervisedProcess } from './processes.ts';
import { findTool } from './tool.ts';
import { tools } from './tools.ts';

export interface TemporalOptions {
  /** Also serve the Web UI. */
  readonly ui?: boolean;
  /** Keep the state in this file; `true` for a temporary one. Without it nothing survives a restart. */
  readonly dbFile?: string | true;
  /** Ports to use instead of free ones. */
  readonly port?: number;
  readonly uiPort?: number;
  /** Where the Web UI's pages decode payloads. */
  readonly codecEndpoint?: string;
  /** Without our search attributes: what a server looks like before `vmflow admin setup`. */
  readonly bare?: boolean;
  readonly logFile?: string;
  /** Further dynamic configuration, `key=value`. */
  readonly dynamicConfig?: readonly string[];
}

export interface TemporalServer {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  readonly uiUrl?: string;
  readonly namespace: string;
  readonly pid: () => number;
  /** Resolves when the server has ended, for whatever reason. */
  readonly exited: () => Promise<Exit>;
  /** Ends the server and removes its temporary files. */
  stop(): Promise<void>;
  /** SIGKILL; `restart` brings it back. */
  kill(): Promise<void>;
  /** Starts it again on the same port with the same state, ending it first where it runs. */
  restart(): Promise<void>;
  /** As `restart`, but everything it knew is lost. */
  wipe(): Promise<void>;
}

export const namespace = 'vmflow';

/**
 * What makes the dev server behave like a real one in tests: its one shard polls 20 times a second, which costs 100 ms per
 * workflow; ids of up to 255 characters are checked; new search attributes are seen at once.
 */
const dynamicConfig = [
  'history.transferProcessorMaxPollRPS=500',
  // Priorities count, as they do by themselves in newer servers.
  'matching.useNewMatcher=true',
  'limit.maxIDLength=255',
  'system.forceSearchAttributesCacheRefreshOnRead=true',
];

const typeNames = { KEYWORD: 'Keyword', BOOL: 'Bool', DATETIME: 'Datetime', DOUBLE: 'Double' } as const;

/** Starts a Temporal dev server on loopback with the namespace `vmflow` and waits until it serves. */
export async function startTemporal(options: TemporalOptions = {}): Promise<TemporalServer> {
  const binary = await findTool(tools.temporal);
  const dir = options.dbFile === true ? await mkdtemp(join(tmpdir(), 'vmflow-temporal-')) : undefined;
  const dbFile = dir === undefined ? options.dbFile : join(dir, 'temporal.db');
  const port = options.port ?? (await freePort());
  const uiPort = options.ui ? (options.uiPort ?? (await freePort())) : undefined;
  const args = [
    ...serverArguments(port, uiPort, typeof dbFile === 'string' ? dbFile : undefined, options.bare ?? false),
    ...(options.codecEndpoint === undefined ? [] : ['--ui-codec-endpoint', options.codecEndpoint]),
    ...(options.dynamicConfig ?? []).flatMap((entry) => ['--dynamic-config-value', entry]),
  ];

  const start = (): Promise<SupervisedProcess> =>
    startProcess({
      name: 'The Temporal dev server',
      command: binary,
      args,
      ready: (line) => line.startsWith('Metrics:'), // the last line of its greeting, printed when all services run
      ...(options.logFile === undefined ? {} : { logFile: options.logFile }),
    });

  let server = await withRetries(start);
  const keptIn = (): string => {
    if (typeof dbFile === 'string') return dbFile;
    throw new Error('This Temporal server keeps nothing: start it with a dbFile to restart it.');
  };
  return {
    address: `127.0.0.1:${port}`,
    ...(uiPort === undefined ? {} : { uiUrl: `http://127.0.0.1:${uiPort}` }),
    namespace,
    pid: () => server.pid,
    exited: () => server.exited,
    kill: () => server.kill(),
    async stop() {
      await server.stop();
      if (dir !== undefined) await rm(dir, { recursive: true, force: true });
    },
    async restart() {
      keptIn();
      await server.stop();
      server = await withRetries(start);
    },
    async wipe() {
      const file = keptIn();
      await server.kill();
      await Promise.all(['', '-wal', '-shm', '-journal'].map((end) => rm(`${file}${end}`, { force: true })));
      server = await withRetries(start);
    },
  };
}

/** Its services take free ports of their own, and somebody else may have taken one in between. */
async function withRetries<T>(start: () => Promise<T>, retries = 2): Promise<T> {
  try {
    return await start();
  } catch (error) {
    if (retries === 0 || !/address already in use/.test(String(error))) throw error;
    return withRetries(start, retries - 1);
  }
}

function serverArguments(
  port: number,
  uiPort: number | undefined,
  dbFile: string | undefined,
  bare: boolean,
): string[] {
  const attributes = bare ? [] : Object.values(searchKeys).map(({ name, type }) => `${name}=${typeNames[type]}`);
  return [
    ...[
      'server',
      'start-dev',
      '--ip',
      '127.0.0.1',
      '--port',
      `${port}`,
      '--namespace',
      namespace,
      '--log-level',
      'error',
    ],
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', `${uiPort}`]),
    ...(dbFile === undefined ? [] : ['--db-filename', dbFile]),
    ...dynamicConfig.flatMap((entry) => ['--dynamic-config-value', entry]),
    ...attributes.flatMap((entry) => ['--search-attribute', entry]),
  ];
}
