import { Refusal } from './answers.ts';
import type { Devices, Instance, Network, Pool, Project, Volume } from './model.ts';

/** Everything that the server knows, and where to find it. */
export class State {
  readonly projects = new Map<string, Project>();
  readonly pools = new Map<string, Pool>();
  networks: Network[] = [];
  instances: Instance[] = [];
  volumes: Volume[] = [];
  /** Members of the cluster and whether they are there; empty: it is no cluster. */
  readonly members = new Map<string, boolean>();

  /** Fails with 404. */
  project(name: string): Project {
    const found = this.projects.get(name);
    if (found === undefined) throw new Refusal(404, 'Project not found');
    return found;
  }

  /** Fails with 404. */
  pool(name: string): Pool {
    const found = this.pools.get(name);
    if (found === undefined) throw new Refusal(404, 'Storage pool not found');
    return found;
  }

  /** A project that has no networks or volumes of its own uses those of `default`. */
  effective(project: string, feature: 'networks' | 'storage.volumes'): string {
    return this.projects.get(project)?.config[`features.${feature}`] === 'true' ? project : 'default';
  }

  networksOf(project: string): Network[] {
    const effective = this.effective(project, 'networks');
    return this.networks.filter((network) => network.project === effective);
  }

  findInstance(project: string, name: string): Instance | undefined {
    return this.instances.find((instance) => instance.project === project && instance.name === name);
  }

  /** Fails with 404, or with 503 where its member is away. */
  instance(project: string, name: string): Instance {
    const found = this.findInstance(project, name);
    if (found === undefined) throw new Refusal(404, 'Instance not found');
    if (!this.isThere(found.location)) throw new Refusal(503, `Failed to connect to cluster member ${found.location}`);
    return found;
  }

  isThere(location: string): boolean {
    return this.members.get(location) ?? true;
  }

  findVolume(pool: string, project: string, type: Volume['type'], name: string): Volume | undefined {
    const where = type === 'custom' ? this.effective(project, 'storage.volumes') : project;
    return this.volumes.find(
      (volume) => volume.pool === pool && volume.project === where && volume.type === type && volume.name === name,
    );
  }

  /** Fails with 404. */
  volume(pool: string, project: string, type: Volume['type'], name: string): Volume {
    this.pool(pool);
    const found = this.findVolume(pool, project, type, name);
    if (found === undefined) throw new Refusal(404, 'Storage volume not found');
    return found;
  }

  /** Instances that a volume is a disk of. */
  usersOf(volume: Volume): Instance[] {
    if (volume.type === 'virtual-machine')
      return this.instances.filter(({ project, name }) => project === volume.project && name === volume.name);
    return this.instances.filter((instance) =>
      this.#disks(instance.devices).some(
        ({ pool, source }) =>
          pool !== undefined &&
          source !== undefined &&
          this.findVolume(pool, instance.project, 'custom', source) === volume,
      ),
    );
  }

  /** The volumes of an instance, the root disk first, then `disk1`, `disk2` … */
  disksOf(instance: Instance): Volume[] {
    const { project, name, devices } = instance;
    const root = this.volumes.find(
      (volume) => volume.type === 'virtual-machine' && volume.project === project && volume.name === name,
    );
    const extra = Object.keys(devices)
      .filter((device) => /^disk\d+$/.test(device))
      .sort((a, b) => Number(a.slice(4)) - Number(b.slice(4)))
      .map((device) => devices[device] ?? {})
      .map(({ pool = '', source = '' }) => this.findVolume(pool, project, 'custom', source));
    return [root, ...extra].filter((volume) => volume !== undefined);
  }

  /** Fails where the pool has no room for so many bytes more. */
  checkRoom(pool: Pool, bytes: number): void {
    const used = this.volumes.filter((volume) => volume.pool === pool.name).reduce((sum, { size }) => sum + size, 0);
    if (used + bytes > pool.capacity) throw new Error('Failed creating volume: write failed: no space left on device');
  }

  #disks(devices: Devices): Devices[string][] {
    return Object.values(devices).filter(({ type }) => type === 'disk');
  }
}
