import type { Type } from './type.ts';
import type { Value } from './value.ts';

export type Token = { readonly at: number } & (
  | { readonly kind: 'literal'; readonly text: string; readonly value: Value; readonly type: Type }
  | { readonly kind: 'name'; readonly text: string }
  /** Words such as `not` and `in` are operators too. */
  | { readonly kind: 'operator' | 'bracket'; readonly text: string }
  | { readonly kind: 'end'; readonly text: '' }
);

/** What a reader of a literal found; `end` is the offset behind it. */
export interface LiteralRead {
  readonly value: Value;
  readonly type: Type;
  readonly end: number;
}
