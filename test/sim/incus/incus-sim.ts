import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TargetEndpoint } from '../../../activities/incus/port.ts';
import { listenOn, type Listener } from '../listener.ts';
import { selfSigned } from '../self-signed.ts';
import { Faults } from './faults.ts';
import { Front } from './front.ts';
import { Journal } from './journal.ts';
import { OperationBook } from './operations.ts';
import { defaultSettings, type ServeDisk, type Server, type Settings } from './server.ts';
import { State } from './state.ts';
import { Stock } from './stock.ts';
import { VolumeFiles } from './volume-files.ts';

export type { Fault } from './faults.ts';
export type { NewForeign } from './stock.ts';

export interface IncusSimOptions extends Partial<Settings> {
  /** Name of the target in messages and endpoints; default `tgt`. */
  readonly name?: string;
  /** False: every client is trusted. */
  readonly requireClientCertificate?: boolean;
  /** Names of cluster members; none: it is no cluster. */
  readonly members?: readonly string[];
  /** Serves disks instead of the simulated NBD server; faults of disks don't hit then. */
  readonly serveDisk?: ServeDisk;
}

/**
 * A stand-in for an Incus server, with its state and its disks in this process. It begins with the project and the pools `default`
 * and `fast` (100 GiB each) and the managed bridge `incusbr0`. Everything can be changed while it runs.
 */
export class IncusSim extends Stock {
  readonly certificate = selfSigned();
  /** The client that is trusted. */
  readonly client = selfSigned('vmflow');
  readonly faults = new Faults();
  readonly journal: Journal;
  readonly settings: Settings;
  readonly #name: string;
  readonly #dir: string;
  #front: Front | undefined;
  #listener: Listener | undefined;

  private constructor(dir: string, options: IncusSimOptions) {
    const { name = 'tgt', members = [], serveDisk, ...settings } = options;
    super(emptyServer(dir, { ...defaultSettings, ...settings }, members, serveDisk));
    this.settings = this.server.settings;
    this.journal = this.server.journal;
    this.#dir = dir;
    this.#name = name;
    this.addProject('default', { 'features.networks': 'true', 'features.storage.volumes': 'true' });
    this.addPool('default');
    this.addPool('fast', { driver: 'zfs' });
    this.addNetwork('incusbr0');
  }

  static async start(options: IncusSimOptions = {}): Promise<IncusSim> {
    const sim = new IncusSim(await mkdtemp(join(tmpdir(), 'vmflow-incus-sim-')), options);
    const { keyPem, certPem } = sim.certificate;
    const trusted = options.requireClientCertificate === false ? undefined : sim.client.sha256;
    const front = (sim.#front = new Front(sim.server, sim.faults, trusted));
    const tls = { key: keyPem, cert: certPem, requestCert: true, rejectUnauthorized: false };
    const server = createServer(tls, (request, response) => {
      front.request(request, response).catch(() => request.socket.destroy());
    });
    server.on('upgrade', (request, socket) => {
      front.upgrade(request, socket).catch(() => socket.destroy());
    });
    sim.#listener = await listenOn(server);
    return sim;
  }

  get url(): string {
    return `https://127.0.0.1:${this.#listener?.port ?? 0}`;
  }

  /** As `vmflow.yaml` would give it, with the client that is trusted. */
  endpoint(more: Partial<TargetEndpoint> = {}): TargetEndpoint {
    return {
      name: this.#name,
      url: this.url,
      tls: { mode: 'thumbprint', sha256: this.certificate.sha256 },
      clientCert: this.client.certPem,
      clientKey: this.client.keyPem,
      connectionTimeoutMs: 20_000,
      ...more,
    };
  }

  /** Connections break and operations are forgotten; what was under way is taken back. Disks and instances stay. */
  async restart(): Promise<void> {
    await this.down();
    this.server.operations.loseAll();
    await this.up();
  }

  /** The client is not trusted any more, or again; what it has open stays so. */
  revoke(isRevoked = true): void {
    if (this.#front !== undefined) this.#front.isRevoked = isRevoked;
  }

  /** Refuses connections from now on. */
  async down(): Promise<void> {
    await this.#listener?.down();
  }

  async up(): Promise<void> {
    await this.#listener?.up();
  }

  async stop(): Promise<void> {
    await this.down();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

function emptyServer(
  dir: string,
  settings: Settings,
  members: readonly string[],
  serveDisk: ServeDisk | undefined,
): Server {
  const state = new State();
  for (const member of members) state.members.set(member, true);
  return {
    state,
    settings,
    journal: new Journal(),
    operations: new OperationBook(settings),
    files: new VolumeFiles(dir),
    serveDisk,
  };
}
