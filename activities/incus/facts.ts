import { z } from 'zod';
import type { TargetFacts, TargetNetwork } from '../../workflows/domain/batch/records.ts';
import type { Call } from './call.ts';
import { pathOf, type IncusClient } from './client.ts';
import { instanceList, statusOf } from './instances.ts';
import { fenceOf, marksOf } from './marks.ts';
import { nameOf } from './operations.ts';
import type { OwnedInstance } from './port.ts';

const config = z.record(z.string(), z.string()).nullish();
const project = z.object({ name: z.string() });
const pool = z.object({ name: z.string(), driver: z.string(), config });
const network = z.object({ name: z.string(), managed: z.boolean(), type: z.string(), config });

export type Pool = z.infer<typeof pool>;

/** Read-only questions about a target as a whole. */
export class Facts {
  readonly #client: IncusClient;
  readonly #target: string;

  constructor(client: IncusClient, target: string) {
    this.#client = client;
    this.#target = target;
  }

  async of(name: string, call: Call): Promise<TargetFacts> {
    const pools = (await this.pools(call)).map(({ name, driver }) => ({ name, driver }));
    const known = { target: this.#target, project: name, pools };
    // Lists of a project that doesn't exist are empty, not refused.
    if (!(await this.hasProject(name, call))) return { ...known, project_exists: false, networks: [], instances: [] };
    const urls = await this.#client.readExisting(z.array(z.string()), pathOf(['instances'], { project: name }), call);
    const instances = urls.value.map((url) => nameOf(url, 'instances')).filter((found) => found !== undefined);
    return { ...known, project_exists: true, networks: await this.networks(name, call), instances };
  }

  async hasProject(name: string, call: Call): Promise<boolean> {
    return (await this.#client.read(project, pathOf(['projects', name]), call)) !== undefined;
  }

  async pools(call: Call): Promise<readonly Pool[]> {
    const path = pathOf(['storage-pools'], { recursion: '1' });
    return (await this.#client.readExisting(z.array(pool), path, call)).value;
  }

  /** Undefined: there is no such pool. */
  async pool(name: string, call: Call): Promise<Pool | undefined> {
    return (await this.#client.read(pool, pathOf(['storage-pools', name]), call))?.value;
  }

  async networks(name: string, call: Call): Promise<readonly TargetNetwork[]> {
    const path = pathOf(['networks'], { recursion: '1', project: name });
    const { value } = await this.#client.readExisting(z.array(network), path, call);
    return value.map(({ name, managed, type, config }) => ({
      name,
      managed,
      type,
      ipv4: config?.['ipv4.address'] ?? '',
    }));
  }

  async owned(call: Call): Promise<readonly OwnedInstance[]> {
    const projects = await this.#client.readExisting(z.array(project), pathOf(['projects'], { recursion: '1' }), call);
    const found: OwnedInstance[] = [];
    for (const { name } of projects.value) found.push(...(await this.#ownedIn(name, call)));
    return found;
  }

  async #ownedIn(project: string, call: Call): Promise<OwnedInstance[]> {
    const path = pathOf(['instances'], { recursion: '1', project });
    // A project that was deleted meanwhile has none.
    const list = (await this.#client.read(instanceList, path, call))?.value ?? [];
    return list.flatMap(({ name, status, config }) => {
      const marks = marksOf(config);
      if (marks === undefined) return [];
      return [{ project, name, marks, fence: fenceOf(config), status: statusOf(status) }];
    });
  }
}
