import type { MoRef, VSphereSession } from '../port.ts';
import { textOf } from './fields.ts';
import type { ReadEachOptions } from './read-each.ts';
import { readEach } from './read-each.ts';

interface Node {
  readonly type: string;
  readonly name: string;
  readonly parent: MoRef | undefined;
}

/** Only these have a place of their own for the VMs in them. */
const pathsOf = (type: string): readonly string[] =>
  type === 'VirtualApp' ? ['name', 'parent', 'parentFolder'] : ['name', 'parent'];

/** Where things are in the inventory: what stands above them, read once. */
export class Places {
  readonly #nodes = new Map<string, Node>();
  readonly #session: VSphereSession;
  readonly #options: ReadEachOptions;

  constructor(session: VSphereSession, options: ReadEachOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Reads what is not known yet of these and everything above. What can't be read stays unknown. */
  async load(refs: readonly (MoRef | undefined)[]): Promise<void> {
    let wanted = this.#unknown(refs);
    while (wanted.length > 0) {
      const above: (MoRef | undefined)[] = [];
      for (const type of new Set(wanted.map((ref) => ref.type))) {
        const ofType = wanted.filter((ref) => ref.type === type);
        const { found } = await readEach(this.#session, ofType, pathsOf(type), this.#options);
        for (const { ref, props } of found) {
          const parent = (props.get('parentFolder') ?? props.get('parent')) as MoRef | undefined;
          this.#nodes.set(ref.value, { type: ref.type, name: textOf(props.get('name')), parent });
          above.push(parent);
        }
      }
      wanted = this.#unknown(above);
    }
  }

  /** Inventory path of something of this name below `parent`; undefined: something above is not known. */
  pathOf(parent: MoRef | undefined, name: string): string | undefined {
    if (parent === undefined) return undefined;
    const above = this.#pathTo(parent);
    return above === undefined ? undefined : `${above}/${name}`;
  }

  /** Name of one that was loaded; empty: not known. */
  nameOf(ref: MoRef | undefined): string {
    return ref === undefined ? '' : (this.#nodes.get(ref.value)?.name ?? '');
  }

  /** Inventory path of the datacenter above. */
  datacenterOf(ref: MoRef | undefined): string | undefined {
    for (let at = ref; at !== undefined; at = this.#nodes.get(at.value)?.parent) {
      if (at.type === 'Datacenter') return this.#pathTo(at);
    }
    return undefined;
  }

  /** The root folder has no part in paths. */
  #pathTo(ref: MoRef): string | undefined {
    const node = this.#nodes.get(ref.value);
    if (node === undefined) return undefined;
    return node.parent === undefined ? '' : this.pathOf(node.parent, node.name);
  }

  #unknown(refs: readonly (MoRef | undefined)[]): readonly MoRef[] {
    const unknown = new Map<string, MoRef>();
    for (const ref of refs) {
      if (ref !== undefined && !this.#nodes.has(ref.value)) unknown.set(ref.value, ref);
    }
    return [...unknown.values()];
  }
}
