import type { FieldText, TypeRow } from './table.ts';
import { types } from './table.ts';

export interface Field {
  /** A primitive, `ref`, `any`, or a type of the table. */
  readonly type: string;
  readonly occurs: 'one' | 'optional' | 'many';
  /** Any subtype may stand here, marked with `xsi:type`. */
  readonly open: boolean;
}

const cache = new Map<FieldText, Field>();

/** Reads the table's notation: `~Type*` and the like. */
export function field(text: FieldText): Field {
  let known = cache.get(text);
  if (known === undefined) {
    const open = text.startsWith('~');
    const last = text.at(-1);
    const occurs = last === '?' ? 'optional' : last === '*' ? 'many' : 'one';
    known = { type: text.slice(open ? 1 : 0, occurs === 'one' ? undefined : -1), occurs, open };
    cache.set(text, known);
  }
  return known;
}

const rows: Readonly<Record<string, TypeRow>> = types;

/** The row of a type, or undefined for primitives and types we don't describe. */
export function rowOf(type: string): TypeRow | undefined {
  return Object.hasOwn(rows, type) ? rows[type] : undefined;
}
