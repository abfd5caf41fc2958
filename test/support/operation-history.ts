import { resources } from '../../activities/kubernetes/resources.ts';
import { vmopOf, type Vmop } from '../../activities/vmop/objects.ts';
import { completedOf, type VmScenario } from './vm-rig.ts';

/** What was seen of one operation, as it changed. */
interface Sighting {
  readonly at: number;
  readonly vmop: Vmop;
}

/** Everything that happened to the operations of a namespace, from a watch. */
export class OperationHistory {
  readonly #seen = new Map<string, Sighting[]>();
  readonly #problems: string[] = [];
  readonly #stop: () => void;

  constructor(scenario: VmScenario) {
    this.#stop = scenario.rig.admin.watch(resources.vmop).subscribe(({ type, object }) => {
      if (object.metadata.namespace !== scenario.namespace || type === 'deleted') return;
      const vmop = vmopOf(object);
      const before = this.#seen.get(vmop.ref.uid) ?? [];
      this.#look(before.at(-1)?.vmop, vmop);
      this.#seen.set(vmop.ref.uid, [...before, { at: Date.now(), vmop }]);
      this.#lookForTwo(vmop);
    });
  }

  /** Broken invariants, in words. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  newestActive(vmName: string): Vmop | undefined {
    return [...this.#seen.values()]
      .map((sightings) => sightings.at(-1)?.vmop)
      .filter((vmop) => vmop !== undefined && vmop.ref.vmName === vmName && !vmop.isTerminal && !vmop.isDeleting)
      .at(-1);
  }

  stop(): void {
    this.#stop();
  }

  /** A terminal phase and its condition are final. */
  #look(before: Vmop | undefined, now: Vmop): void {
    if (before?.isTerminal !== true) return;
    const [was, is] = [completedOf(before), completedOf(now)];
    if (before.phase !== now.phase || was?.reason !== is?.reason || was?.status !== is?.status)
      this.#problems.push(`${now.ref.name} changed from ${before.phase}/${was?.reason} to ${now.phase}/${is?.reason}`);
  }

  /** At no time two operations have sent their signal to one VM and are neither over nor being deleted. */
  #lookForTwo({ ref }: Vmop): void {
    const acting = [...this.#seen.values()]
      .map((sightings) => sightings.at(-1)?.vmop)
      .filter((vmop) => vmop?.ref.vmName === ref.vmName)
      .filter((vmop) => vmop !== undefined && !vmop.isTerminal && !vmop.isDeleting)
      .filter((vmop) => vmop?.conditions.some(({ type, status }) => type === 'SignalSent' && status === 'True'));
    if (acting.length > 1)
      this.#problems.push(`acting on ${ref.vmName} at once: ${acting.map((vmop) => vmop?.ref.name).join(', ')}`);
  }
}
