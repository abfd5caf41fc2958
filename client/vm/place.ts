import { usageError } from '../errors.ts';
import type { Session } from '../session.ts';

/** Flags that say in which Kubernetes namespace to look. */
export interface PlaceFlags {
  readonly kubeNamespace?: string;
}

/** Flag, then environment; undefined: all of them. */
export function kubeNamespace({ runtime }: Session, { kubeNamespace: flag }: PlaceFlags): string | undefined {
  return flag ?? (runtime.env.VMFLOW_KUBE_NAMESPACE || undefined);
}

/** A name as people write it: `db-0`, `shop/db-0`. */
export interface Written {
  /** Absent: it has to be found. */
  readonly namespace?: string;
  readonly name: string;
}

/** The namespace before the slash is meant before the one of the flag; when both are given they have to agree. */
export function readName(session: Session, text: string, flags: PlaceFlags): Written {
  const [first = '', second, ...rest] = text.split('/');
  const hasTwo = second !== undefined;
  const name = second ?? first;
  if (rest.length > 0 || name === '' || first === '')
    throw usageError(`"${text}" is no name`, 'write NAME or NAMESPACE/NAME');
  const { kubeNamespace: flag } = flags;
  if (hasTwo && flag !== undefined && flag !== first)
    throw usageError(`"${text}" is in namespace ${first}, but -n says ${flag}`);
  const namespace = hasTwo ? first : kubeNamespace(session, flags);
  return { name, ...(namespace === undefined ? {} : { namespace }) };
}
