import type { TargetFacts } from '../../../workflows/domain/batch/records.ts';
import type { BatchDeps } from '../../batch/deps.ts';

/** What is at the places that a plan is about; each place is read once. */
export class TargetLooks {
  readonly #deps: BatchDeps;
  readonly #facts = new Map<string, Promise<TargetFacts | undefined>>();

  constructor(deps: BatchDeps) {
    this.#deps = deps;
  }

  /** Undefined: there is no such target in the configuration. Fails as the target does. */
  async facts(target: string, project: string): Promise<TargetFacts | undefined> {
    const key = JSON.stringify([target, project]);
    const known = this.#facts.get(key) ?? this.#read(target, project);
    this.#facts.set(key, known);
    return await known;
  }

  /** Who has this name there. */
  async present(facts: TargetFacts | undefined, name: string, uuid: string): Promise<'absent' | 'ours' | 'foreign'> {
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
