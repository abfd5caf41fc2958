import type { NodeFacts, Observation, PodFacts } from './observation.ts';
import { missing } from './preflight.ts';
import type { HibernationLook } from './hibernation.ts';
import { formatRecord } from './record.ts';
import type { SetLook } from './set-look.ts';

/**
 * Everything that a decision looks at, as one text, and nothing else: two looks with the same fingerprint lead to the same step.
 * Versions of objects are left out, they change with every write; of the room on a node only whether it is enough.
 */
export function fingerprint({ set, pod, hibernations, source, target, tag }: Observation): string {
  const { generation, uid, phase, deleting, suspend, record, sharesVmName } = set ?? {};
  return JSON.stringify([
    [uid, generation, phase, deleting, suspend, record === undefined ? null : formatRecord(record), sharesVmName],
    pod === undefined ? null : podPart(pod),
    hibernations.map((one) => [one.name, one.desire, one.phase, one.generation, one.observedGeneration]),
    nodePart(source),
    nodePart(target),
    target === undefined || pod === undefined ? null : missing(target.free, pod.requests),
    tag,
  ]);
}

function podPart(pod: PodFacts): unknown {
  return { ...pod, resourceVersion: undefined, requests: undefined, createdAt: undefined };
}

function nodePart(node: NodeFacts | undefined): unknown {
  return node === undefined ? null : { ...node, free: undefined };
}

/** The same for a whole set. While its main VM is being moved, nothing of that VM is the set's business. */
export function setFingerprint(look: SetLook): string {
  const { main, agents, set, ...rest } = look;
  const others = look.isMigrationOpen ? agents.filter(({ slot }) => slot !== 0) : agents;
  return JSON.stringify([
    look.isMigrationOpen ? [set?.uid, set?.generation, set?.deleting, set?.suspend] : fingerprint(main),
    others.map(({ pod, hibernations, ...agent }) => [
      agent,
      pod === undefined ? null : podPart(pod),
      hibernations.map((one) => [one.name, one.desire, one.phase, one.generation, one.observedGeneration]),
    ]),
    rest,
  ]);
}

export function hibernationFingerprint({ hibernation, pod, tag, ...rest }: HibernationLook): string {
  return JSON.stringify([hibernation ?? null, pod === undefined ? null : podPart(pod), tag, rest]);
}
