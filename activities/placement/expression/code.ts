import type { Apply } from './overload.ts';
import type { PredicateName } from './predicates.ts';
import type { Value } from './value.ts';

/** An expression after checking: what each node does is settled, its types hold. The evaluator walks this tree. */
export type Code =
  | { readonly kind: 'constant'; readonly at: number; readonly value: Value }
  | { readonly kind: 'name'; readonly at: number; readonly name: string }
  | { readonly kind: 'element'; readonly at: number; readonly part: 'value' | 'index' }
  | { readonly kind: 'list'; readonly at: number; readonly items: readonly Code[] }
  | { readonly kind: 'map'; readonly at: number; readonly entries: readonly (readonly [string, Code])[] }
  | { readonly kind: 'apply'; readonly at: number; readonly args: readonly Code[]; readonly apply: Apply }
  | { readonly kind: 'and' | 'or' | 'coalesce'; readonly at: number; readonly left: Code; readonly right: Code }
  | { readonly kind: 'choice'; readonly at: number; readonly when: Code; readonly then: Code; readonly otherwise: Code }
  /** Refuses nil. */
  | { readonly kind: 'present'; readonly at: number; readonly of: Code }
  | { readonly kind: 'entry'; readonly at: number; readonly of: Code; readonly key: Code; readonly missing: Value }
  | { readonly kind: 'item'; readonly at: number; readonly of: Code; readonly index: Code }
  /** Ends the chain around it where `of` is nil. */
  | { readonly kind: 'optional'; readonly at: number; readonly of: Code }
  | { readonly kind: 'chain'; readonly at: number; readonly of: Code }
  | PredicateCode;

export interface PredicateCode {
  readonly kind: 'predicate';
  readonly at: number;
  readonly name: Exclude<PredicateName, 'sum'>;
  readonly list: Code;
  readonly body: Code;
}
