import { createObjectStore, type ObjectStore } from '../../../activities/kubernetes/object-store.ts';
import type { KubeObject, ResourceWatch } from '../../../activities/kubernetes/port.ts';
import { vmopKeys } from '../../../workflows/contracts/vmop.ts';
import type { Condition } from '../../../workflows/domain/conditions.ts';
import { vmopTypes, type OperationKind, type VmopType } from '../../../workflows/domain/vmop/matrix.ts';

/** What can be asked of a VM, as the grid of the rules names it. */
export const kinds = [
  ...vmopTypes
    .filter((type) => type !== 'Start' && type !== 'Restore' && type !== 'Clone')
    .flatMap((t) => [t, `${t}!`]),
  'Start',
  'Restore',
  'Clone',
];

export const kind = (word: string): OperationKind =>
  word.endsWith('!') ? { type: word.slice(0, -1) as VmopType, force: true } : { type: word as VmopType };

export interface Parts {
  readonly kind?: string;
  readonly vm?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly version?: string;
  readonly phase?: string;
  readonly conditions?: readonly Partial<Condition>[];
  readonly seq?: number;
  readonly createdAt?: string;
  readonly deleting?: boolean;
  readonly supersededBy?: string;
}

/** An operation object; without a phase nobody has seen it. */
export function vmop(name: string, parts: Parts = {}): KubeObject {
  const { namespace = 'shop', uid = `uid-${name}`, version = '1', phase, conditions, seq, supersededBy } = parts;
  return {
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion: version,
      creationTimestamp: parts.createdAt ?? '2026-01-01T00:00:00Z',
      annotations: {
        ...(seq === undefined ? {} : { [vmopKeys.seq]: String(seq) }),
        ...(supersededBy === undefined ? {} : { [vmopKeys.supersededBy]: supersededBy }),
      },
      ...(parts.deleting === true ? { deletionTimestamp: '2026-01-01T00:01:00Z' } : {}),
    },
    spec: { virtualMachineName: parts.vm ?? 'db-0', ...kind(parts.kind ?? 'Stop') },
    ...(phase === undefined ? {} : { status: { phase, conditions: conditions ?? [] } }),
  };
}

export const completed = (reason: string, more: Partial<Condition> = {}): Partial<Condition> => ({
  type: 'Completed',
  status: 'True',
  reason,
  ...more,
});

export interface FakeWatch extends ResourceWatch {
  readonly store: ObjectStore;
  /** The first list is in. */
  sync(...objects: readonly KubeObject[]): Promise<void>;
}

/** A watch whose server is the test. */
export function fakeWatch(): FakeWatch {
  const store = createObjectStore((error) => {
    throw error;
  });
  let resolve = (): void => undefined;
  const ready = new Promise<void>((done) => (resolve = done));
  return {
    store,
    ready,
    get: (namespace, name) => store.get(namespace, name),
    items: () => store.items(),
    subscribe: (listener) => store.subscribe(listener),
    async sync(...objects) {
      store.replace(objects);
      resolve();
      await ready;
    },
  };
}
