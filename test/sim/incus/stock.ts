import { createRootVolume } from './instance-work.ts';
import { volumeBytes, type Config, type Devices, type Instance, type Network, type Volume } from './model.ts';
import { startNow, stopNow } from './power-work.ts';
import type { Server } from './server.ts';

export interface NewForeign {
  readonly project?: string;
  readonly name: string;
  readonly config?: Config;
  readonly devices?: Devices;
  readonly running?: boolean;
  readonly pool?: string;
  readonly size?: string;
}

/** What the simulated server has, to be read and changed behind the back of its API. */
export class Stock {
  protected readonly server: Server;

  protected constructor(server: Server) {
    this.server = server;
  }

  /** A project without `features.networks` and `features.storage.volumes` uses those of `default`. */
  addProject(name: string, config: Config = { 'features.storage.volumes': 'true' }): void {
    this.server.state.projects.set(name, { name, description: '', config });
  }

  removeProject(name: string): void {
    this.server.state.projects.delete(name);
  }

  addPool(name: string, more: { readonly driver?: string; readonly capacity?: number; readonly config?: Config } = {}) {
    const { driver = 'dir', capacity = 100 * 2 ** 30, config = {} } = more;
    this.server.state.pools.set(name, { name, driver, capacity, config });
  }

  /** May be called for a pool that has volumes already. */
  setCapacity(pool: string, capacity: number): void {
    this.server.state.pool(pool).capacity = capacity;
  }

  removePool(name: string): void {
    this.server.state.pools.delete(name);
  }

  addNetwork(name: string, more: Partial<Omit<Network, 'name'>> = {}): void {
    const { project = 'default', managed = true, type = 'bridge', config = { 'ipv4.address': '10.1.0.1/24' } } = more;
    this.server.state.networks.push({ name, project, managed, type, config });
  }

  removeNetwork(name: string, project = 'default'): void {
    const { state } = this.server;
    state.networks = state.networks.filter((network) => network.name !== name || network.project !== project);
  }

  setMember(name: string, isThere: boolean): void {
    this.server.state.members.set(name, isThere);
  }

  /** An instance that nobody asked for over the API. */
  async addInstance({
    name,
    project = 'default',
    pool = 'default',
    size = '8MiB',
    ...more
  }: NewForeign): Promise<void> {
    const instance: Instance = {
      project,
      name,
      type: 'virtual-machine',
      location: [...this.server.state.members.keys()][0] ?? 'none',
      architecture: 'x86_64',
      description: '',
      status: more.running === true ? 'Running' : 'Stopped',
      config: { ...more.config },
      devices: { root: { type: 'disk', path: '/', pool, size }, ...more.devices },
      profiles: ['default'],
      ephemeral: false,
      stateful: false,
      ignoresShutdown: false,
    };
    this.server.state.instances.push(instance);
    await createRootVolume(this.server, instance);
  }

  async addVolume(name: string, more: { pool?: string; project?: string; config?: Config } = {}): Promise<void> {
    const { pool = 'default', project = 'default', config = {} } = more;
    const { state, files } = this.server;
    const volume: Volume = {
      pool,
      project: state.effective(project, 'storage.volumes'),
      type: 'custom',
      name,
      contentType: 'block',
      location: 'none',
      file: files.nextFile(),
      description: '',
      config,
      size: volumeBytes(config['size']) ?? 0,
      writer: false,
      received: 0,
    };
    state.volumes.push(volume);
    await files.create(volume);
  }

  /** As it is now, to read and to change behind the back of the API; undefined: there is none. */
  instance(project: string, name: string): Instance | undefined {
    return this.server.state.findInstance(project, name);
  }

  instances(): readonly Instance[] {
    return this.server.state.instances;
  }

  /** Custom volumes. */
  volumes(): readonly Volume[] {
    return this.server.state.volumes.filter(({ type }) => type === 'custom');
  }

  /** Somebody deletes the instance with its root disk. */
  async removeInstance(project: string, name: string): Promise<void> {
    const { state, files } = this.server;
    const [root] = state.disksOf(state.instance(project, name));
    state.instances = state.instances.filter((known) => known.project !== project || known.name !== name);
    state.volumes = state.volumes.filter((volume) => volume !== root);
    if (root !== undefined) await files.remove(root);
  }

  /** Somebody starts or stops the instance. */
  setPower(project: string, name: string, isOn: boolean): void {
    const instance = this.server.state.instance(project, name);
    if (isOn) startNow(instance, () => this.server.journal.note('instance-started', instance));
    else stopNow(instance, () => this.server.journal.note('instance-stopped', instance));
  }

  /** SHA-256 in hex of a disk; of its first bytes where a length is given. */
  volumeDigest(project: string, instance: string, index: number, length?: number): Promise<string> {
    return this.server.files.digest(this.#disk(project, instance, index), length);
  }

  /** Bytes of data that clients have sent a disk over NBD. */
  received(project: string, instance: string, index: number): number {
    return this.#disk(project, instance, index).received;
  }

  readDisk(project: string, instance: string, index: number, start: number, length: number): Promise<Buffer> {
    return this.server.files.with(this.#disk(project, instance, index), async (handle) => {
      const data = Buffer.alloc(length);
      await handle.read(data, 0, length, start);
      return data;
    });
  }

  async writeDisk(project: string, instance: string, index: number, start: number, data: Uint8Array): Promise<void> {
    await this.server.files.with(this.#disk(project, instance, index), (handle) =>
      handle.write(data, 0, data.length, start),
    );
  }

  /** Where a disk is, for programs that read it as a raw image. */
  diskFile(project: string, instance: string, index: number): string {
    return this.#disk(project, instance, index).file;
  }

  /** Bytes of a disk. */
  diskSize(project: string, instance: string, index: number): number {
    return this.#disk(project, instance, index).size;
  }

  #disk(project: string, name: string, index: number): Volume {
    const { state } = this.server;
    const disk = state.disksOf(state.instance(project, name))[index];
    if (disk === undefined) throw new Error(`${name} in project ${project} has no disk ${index}`);
    return disk;
  }
}
