import type { PredicateName } from './predicates.ts';
import type { Type } from './type.ts';
import type { Value } from './value.ts';

/** The tree of an expression as it is written. `at` is the offset in the text that errors point to. */
export type Node =
  | { readonly kind: 'literal'; readonly at: number; readonly value: Value; readonly type: Type }
  | { readonly kind: 'name'; readonly at: number; readonly name: string }
  /** `#` and `#index` of the innermost predicate. */
  | { readonly kind: 'element'; readonly at: number; readonly part: 'value' | 'index' }
  | { readonly kind: 'list'; readonly at: number; readonly items: readonly Node[] }
  | { readonly kind: 'map'; readonly at: number; readonly entries: readonly MapEntry[] }
  | { readonly kind: 'unary'; readonly at: number; readonly operator: string; readonly operand: Node }
  | {
      readonly kind: 'binary';
      readonly at: number;
      readonly operator: string;
      readonly left: Node;
      readonly right: Node;
    }
  | { readonly kind: 'choice'; readonly at: number; readonly when: Node; readonly then: Node; readonly otherwise: Node }
  | {
      readonly kind: 'field';
      readonly at: number;
      readonly of: Node;
      readonly name: string;
      readonly optional: boolean;
    }
  | { readonly kind: 'index'; readonly at: number; readonly of: Node; readonly index: Node; readonly optional: boolean }
  | { readonly kind: 'slice'; readonly at: number; readonly of: Node; readonly from?: Node; readonly to?: Node }
  /** Postfixes with `?.` among them: where that finds nil, the whole is nil. */
  | { readonly kind: 'chain'; readonly at: number; readonly of: Node }
  | { readonly kind: 'call'; readonly at: number; readonly name: string; readonly args: readonly Node[] }
  | PredicateNode;

export interface MapEntry {
  readonly at: number;
  readonly key: string;
  readonly value: Node;
}

/** `filter(list, body)`; the body is evaluated once per element. */
export interface PredicateNode {
  readonly kind: 'predicate';
  readonly at: number;
  readonly name: PredicateName;
  readonly list: Node;
  readonly body?: Node;
}
