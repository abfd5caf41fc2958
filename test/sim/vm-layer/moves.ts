import { isDeepStrictEqual } from 'node:util';
import type { JsonPatchOperation, KubeObject } from '../../../activities/kubernetes/port.ts';
import type { Behaviour } from './behaviour.ts';
import type { Kind } from './objects.ts';
import type { SimNode } from './types.ts';

/** A VM and what is underneath at one moment: all that a rule may look at. */
export interface World {
  readonly namespace: string;
  readonly name: string;
  readonly vm: KubeObject | undefined;
  readonly machine: KubeObject | undefined;
  readonly instance: KubeObject | undefined;
  /** Oldest first. */
  readonly migrations: readonly KubeObject[];
  readonly behaviour: Behaviour;
  readonly nodes: readonly SimNode[];
  /** ISO 8601 */
  readonly now: string;
  /** Milliseconds since a rule first asked for this clock. One that no rule asks for in a round stands at 0 again. */
  elapsed(clock: string): number;
}

/** One write. Patches hold only while the object is as the rule saw it; deletes name its UID. */
export type Step = { readonly on: Kind; readonly why: string } & (
  | { readonly verb: 'create'; readonly body: { readonly metadata: { readonly name: string }; readonly spec: object } }
  | {
      readonly verb: 'patch';
      readonly object: KubeObject;
      readonly operations: readonly JsonPatchOperation[];
      readonly status?: true;
    }
  | { readonly verb: 'delete'; readonly object: KubeObject }
);

/** What a rule wants: a write now, another look later, or (undefined) nothing before something changes. */
export type Move = Step | { readonly afterMs: number } | undefined;

export type Rule = (world: World) => Move;

/** The first write that a rule wants, else the earliest look. */
export function firstOf(moves: readonly Move[]): Move {
  let earliest: { readonly afterMs: number } | undefined;
  for (const move of moves) {
    if (move === undefined) continue;
    if ('verb' in move) return move;
    if (earliest === undefined || move.afterMs < earliest.afterMs) earliest = move;
  }
  return earliest;
}

/** The move once this has been so for the time. Infinity: never. */
export function after(world: World, clock: string, delayMs: number, move: () => Move): Move {
  const elapsed = world.elapsed(clock);
  if (elapsed >= delayMs) return move();
  return delayMs === Infinity ? undefined : { afterMs: delayMs - elapsed };
}

export function remove(on: Kind, object: KubeObject, why: string): Step {
  return { verb: 'delete', on, object, why };
}

/** Undefined when the status is so already. */
export function setStatus(on: Kind, object: KubeObject, status: object, why: string): Step | undefined {
  const plain = withoutUndefined(status);
  if (object.status !== undefined && isDeepStrictEqual(object.status, plain)) return undefined;
  return {
    verb: 'patch',
    on,
    object,
    status: true,
    operations: [{ op: 'add', path: '/status', value: plain }],
    why,
  };
}

export function setSpec(on: Kind, object: KubeObject, spec: object, why: string): Step {
  return { verb: 'patch', on, object, operations: [{ op: 'add', path: '/spec', value: spec }], why };
}

export function withoutAnnotations(on: Kind, object: KubeObject, keys: readonly string[], why: string): Step {
  const left = Object.entries(object.metadata.annotations ?? {}).filter(([key]) => !keys.includes(key));
  return {
    verb: 'patch',
    on,
    object,
    operations: [{ op: 'add', path: '/metadata/annotations', value: Object.fromEntries(left) }],
    why,
  };
}

export function setFinalizer(on: Kind, object: KubeObject, finalizer: string, wanted: boolean, why: string): Step {
  const others = (object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
  const value = wanted ? [...others, finalizer] : others;
  return { verb: 'patch', on, object, operations: [{ op: 'add', path: '/metadata/finalizers', value }], why };
}

/** As the API server will keep it. */
function withoutUndefined(value: object): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}
