import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess, type Exit } from './processes.ts';
import { findTool } from './tool.ts';
import { tools } from './tools.ts';
import { createVcsimControl, type VcsimControl } from './vcsim-control.ts';

export interface VcsimOptions {
  readonly username?: string;
  readonly password?: string;
  /** Address to listen on; default a free port on 127.0.0.1. */
  readonly listen?: string;
  readonly tls?: boolean;
  readonly certificate?: { readonly certFile: string; readonly keyFile: string };
  /** How many of each the inventory starts with, e.g. `{ dc: 2, vm: 0 }`; names as in the flags of `vcsim`. */
  readonly inventory?: Partial<Record<InventoryFlag, number>>;
  /** Milliseconds by method: `Rename_Task` delays the call, `Rename` its task. */
  readonly methodDelay?: Readonly<Record<string, number>>;
  /** Milliseconds for every call. */
  readonly delayMs?: number;
  /** A lone ESXi host instead of a vCenter. */
  readonly esx?: boolean;
  readonly apiVersion?: string;
  readonly logFile?: string;
}

type InventoryFlag =
  'dc' | 'cluster' | 'host' | 'standalone-host' | 'ds' | 'vm' | 'pool' | 'folder' | 'app' | 'pod' | 'pg' | 'nsx';

export interface Vcsim {
  /** SOAP endpoint, e.g. `https://127.0.0.1:40907/sdk`. */
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Thumbprints of its certificate, upper-case hex with colons; empty without TLS. */
  readonly sha256: string;
  readonly sha1: string;
  readonly pid: number;
  readonly control: VcsimControl;
  /** Resolves when it has ended, for whatever reason. */
  readonly exited: Promise<Exit>;
  /** Its last lines of output. */
  output(): string;
  stop(): Promise<void>;
  /** SIGKILL: everything in it is lost. */
  kill(): Promise<void>;
}

interface ReadyLine {
  readonly url: string;
  readonly control: string;
  readonly sha256?: string;
  readonly sha1?: string;
}

/** Starts a vCenter simulator of its own on loopback. */
export async function startVcsim(options: VcsimOptions = {}): Promise<Vcsim> {
  const binary = await findTool(tools.vcsim);
  // Its datastores are folders under TMPDIR; ours to remove where it is killed.
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-vcsim-'));
  const username = options.username ?? 'administrator@vsphere.local';
  const password = options.password ?? 'not-a-secret';
  let readyLine: ReadyLine | undefined;
  const simulator = await startProcess({
    name: 'The vCenter simulator',
    command: binary,
    args: simulatorArguments(options, username),
    env: { ...process.env, TMPDIR: dir, VCSIM_PASSWORD: password },
    ready: (line) => (readyLine ??= parseReady(line)) !== undefined,
    // Large inventories are made before it listens.
    readyWithinMs: 30_000 + 60 * (options.inventory?.vm ?? 0),
    ...(options.logFile === undefined ? {} : { logFile: options.logFile }),
  });
  if (readyLine === undefined) throw new Error('The vCenter simulator did not say where it listens.');
  const clean = (): Promise<void> => rm(dir, { recursive: true, force: true });
  return {
    url: readyLine.url,
    username,
    password,
    sha256: readyLine.sha256 ?? '',
    sha1: readyLine.sha1 ?? '',
    pid: simulator.pid,
    control: createVcsimControl(readyLine.control),
    exited: simulator.exited,
    output: () => simulator.output(),
    stop: () => simulator.stop().then(clean),
    kill: () => simulator.kill().then(clean),
  };
}

function parseReady(line: string): ReadyLine | undefined {
  return line.startsWith('{"url"') ? (JSON.parse(line) as ReadyLine) : undefined;
}

function simulatorArguments(options: VcsimOptions, username: string): string[] {
  const { certificate, methodDelay } = options;
  const delays = Object.entries(methodDelay ?? {}).map(([method, ms]) => `${method}:${ms}`);
  return [
    ...['-l', options.listen ?? '127.0.0.1:0', '-username', username],
    ...(options.tls === false ? ['-tls=false'] : []),
    ...(certificate ? ['-tlscert', certificate.certFile, '-tlskey', certificate.keyFile] : []),
    ...(options.esx ? ['-esx'] : []),
    ...(options.apiVersion === undefined ? [] : ['-api-version', options.apiVersion]),
    ...(options.delayMs === undefined ? [] : ['-delay', `${options.delayMs}`]),
    ...(delays.length === 0 ? [] : ['-method-delay', delays.join(',')]),
    ...Object.entries(options.inventory ?? {}).flatMap(([flag, count]) => [`-${flag}`, `${count}`]),
  ];
}
