import type { Placement, TargetFacts } from '../../workflows/domain/batch/records.ts';
import type { BatchDeps } from './deps.ts';

/** A place, and what has the name of a VM there. */
export interface TargetLook {
  /** Undefined: there is no such target in the configuration (any more). */
  readonly facts: TargetFacts | undefined;
  readonly present: 'absent' | 'ours' | 'foreign';
}

/** Looks at the places that VMs are to go to; each place is read once. */
export class TargetLooks {
  readonly #deps: BatchDeps;
  readonly #facts = new Map<string, Promise<TargetFacts | undefined>>();

  constructor(deps: BatchDeps) {
    this.#deps = deps;
  }

  /** Fails as the target does. */
  async at({ target_name, target_project }: Placement, vm: { name: string; uuid: string }): Promise<TargetLook> {
    const key = JSON.stringify([target_name, target_project]);
    const known = this.#facts.get(key) ?? this.#read(target_name, target_project);
    this.#facts.set(key, known);
    const facts = await known;
    return { facts, present: await this.#present(facts, vm) };
  }

  async #present(
    facts: TargetFacts | undefined,
    { name, uuid }: { name: string; uuid: string },
  ): Promise<TargetLook['present']> {
    if (facts === undefined || !facts.project_exists || !facts.instances.includes(name)) return 'absent';
    const target = await this.#deps.target(facts.target);
    const found = await target.find(facts.project, name);
    if (found === undefined) return 'absent';
    return found.marks?.uuid === uuid ? 'ours' : 'foreign';
  }

  async #read(target: string, project: string): Promise<TargetFacts | undefined> {
    const { config } = this.#deps;
    if (!Object.hasOwn(config.file.targets, target)) return undefined;
    return await (await this.#deps.target(target)).facts(project);
  }
}
