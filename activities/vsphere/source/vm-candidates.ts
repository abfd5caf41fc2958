import type { MoRef } from '../port.ts';
import { fieldsOf, isTrue, listOf, textOf } from './fields.ts';

/** Little of every VM of an inventory: enough to say which are delivered, and in which order. */
export const candidatePaths: readonly string[] = [
  ...['name', 'parent', 'parentVApp', 'config.instanceUuid', 'config.template', 'config.vAppConfig'],
];

export interface Candidate {
  readonly ref: MoRef;
  readonly location: string;
  /** Lower case; empty without a configuration. */
  readonly uuid: string;
  readonly props: ReadonlyMap<string, unknown>;
}

export interface LeftOut {
  readonly candidate: Candidate;
  readonly type: 'Instances were ignored' | 'Instances not imported';
  readonly why: string;
  /** What it is can be told, and it is nothing that a batch migrates. */
  readonly isNoVm: boolean;
}

/** The folder or vApp that a VM is in. */
export const placeOf = (props: ReadonlyMap<string, unknown>): MoRef | undefined =>
  (props.get('parent') ?? props.get('parentVApp')) as MoRef | undefined;

/**
 * Which VMs are migrated at all, in the order of their locations. Of two with one instance UUID the first one stays: a copy of a VM
 * that kept its UUID must not take the place of the VM.
 */
export function chooseCandidates(all: readonly Candidate[]): {
  readonly chosen: readonly Candidate[];
  readonly leftOut: readonly LeftOut[];
} {
  const chosen: Candidate[] = [];
  const leftOut: LeftOut[] = [];
  const byUuid = new Map<string, Candidate>();
  for (const candidate of all.toSorted(byLocation)) {
    const why = ignoredFor(candidate);
    const first = byUuid.get(candidate.uuid);
    if (why !== undefined)
      leftOut.push({ candidate, type: 'Instances were ignored', why, isNoVm: why !== noConfiguration });
    else if (first !== undefined) {
      const text = `it has the instance UUID of ${first.location} (${candidate.uuid})`;
      leftOut.push({ candidate, type: 'Instances not imported', why: text, isNoVm: false });
    } else {
      byUuid.set(candidate.uuid, candidate);
      chosen.push(candidate);
    }
  }
  return { chosen, leftOut };
}

function byLocation(one: Candidate, other: Candidate): number {
  if (one.location !== other.location) return one.location < other.location ? -1 : 1;
  return one.ref.value < other.ref.value ? -1 : 1;
}

/** What it is can't be told. */
const noConfiguration = 'it has no configuration';

function ignoredFor({ props, uuid }: Candidate): string | undefined {
  if (/^vCLS\b/.test(textOf(props.get('name')))) return 'it is a service VM of the cluster';
  if (uuid === '') return noConfiguration;
  if (isTrue(props.get('config.template'))) return 'it is a template';
  const products = listOf(fieldsOf(props.get('config.vAppConfig'))['product']);
  return products.some(({ name }) => /vcenter server/i.test(textOf(name))) ? 'it is a vCenter appliance' : undefined;
}
