import { LruMap } from '../../ova/lru-map.ts';
import { check } from './check.ts';
import type { Checked } from './checked.ts';
import { environmentOf, namesOf, type Subject, type Subjects } from './environment.ts';
import { ExpressionError } from './error.ts';
import { evaluate } from './evaluate.ts';
import { limits } from './limits.ts';
import { Meter, type MeterOptions } from './meter.ts';
import { parse } from './parser.ts';
import type { Node } from './syntax.ts';
import { describe, string } from './type.ts';

export { ExpressionError } from './error.ts';
export type { Subject, Subjects } from './environment.ts';

/** What an evaluation knows besides the record, and what it may cost where that isn't as usual. */
export type Circumstances = { readonly now: Date } & Omit<MeterOptions, 'now'>;

/** A condition on one record. */
export interface CompiledExpression<S extends Subject> {
  readonly text: string;
  /**
   * Whether it holds. An instance comes with the overrides of its batch applied. Fails with `ExpressionError` where it can't be
   * told: never takes that for false.
   */
  evaluate(record: Subjects[S], circumstances: Circumstances): boolean;
}

const compiled = new LruMap<CompiledExpression<never>>(limits.cached);

/** Compiles a condition. Fails with `ExpressionError` when it is none that can be evaluated for every such record. */
export function compileExpression<S extends Subject>(text: string, subject: S): CompiledExpression<S> {
  return cached(`${subject} ${text}`, () => compileTree(text, subject, parse(text)));
}

/**
 * The filter of a list: a condition, or plain text that is a pattern for the location. Text is plain when it can't be read as an
 * expression, or when it is nothing but a name or a whole number.
 */
export function asFilter<S extends 'instance' | 'network'>(text: string, subject: S): CompiledExpression<S> {
  return cached(`filter ${subject} ${text}`, () => compileTree(text, subject, parseFilter(text)));
}

function cached<S extends Subject>(key: string, compile: () => CompiledExpression<S>): CompiledExpression<S> {
  const known = compiled.get(key) as CompiledExpression<S> | undefined;
  if (known !== undefined) return known;
  const fresh = compile();
  compiled.set(key, fresh);
  return fresh;
}

function compileTree<S extends Subject>(text: string, subject: S, tree: Node): CompiledExpression<S> {
  const { code } = condition(text, check(tree, { text, subject, names: namesOf(subject) }));
  return {
    text,
    evaluate: (record, { now, ...rest }) =>
      evaluate(code, environmentOf[subject](record), new Meter(text, { now: now.getTime(), ...rest })) === true,
  };
}

function condition(text: string, { code, type }: Checked): Checked {
  if (type.kind === 'bool') return { code, type };
  const next = type.kind === 'nullable' && type.of.kind === 'bool' ? ': say what nil means, with ?? false' : '';
  throw new ExpressionError('type', `it must be true or false, but is ${describe(type)}${next}`, text, 0);
}

function parseFilter(text: string): Node {
  try {
    const tree = parse(text);
    const isPlain = tree.kind === 'name' || (tree.kind === 'literal' && tree.type.kind === 'int');
    return isPlain ? locationMatches(text) : tree;
  } catch (err) {
    if (err instanceof ExpressionError && err.kind === 'syntax') return locationMatches(text);
    throw err;
  }
}

function locationMatches(text: string): Node {
  const left: Node = { kind: 'name', at: 0, name: 'location' };
  const right: Node = { kind: 'literal', at: 0, value: text.trim(), type: string };
  return { kind: 'binary', at: 0, operator: 'matches', left, right };
}
