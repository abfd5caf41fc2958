import type { Code, PredicateCode } from './code.ts';
import type { Meter } from './meter.ts';
import { entryOf, textOf, type Value, type ValueMap } from './value.ts';

/** The element that a predicate looks at. */
interface Element {
  readonly value: Value;
  readonly index: number;
}

/** Thrown by `?.` at nil, caught by the chain around it. Made once: nobody reads its stack. */
const chainEnds = new Error('a chain ends at nil');

/** The value of a checked expression for these names. Fails with `runtime` or `limit`. */
export function evaluate(code: Code, values: ValueMap, meter: Meter): Value {
  return new Evaluation(values, meter).of(code, undefined);
}

class Evaluation {
  readonly #values: ValueMap;
  readonly #meter: Meter;

  constructor(values: ValueMap, meter: Meter) {
    this.#values = values;
    this.#meter = meter;
  }

  of(code: Code, element: Element | undefined): Value {
    this.#at(code);
    this.#meter.charge(1);
    switch (code.kind) {
      case 'constant':
        return code.value;
      case 'name':
        return entryOf(this.#values, code.name) ?? null;
      case 'element':
        return (code.part === 'index' ? element?.index : element?.value) ?? null;
      case 'list':
        return code.items.map((item) => this.of(item, element));
      case 'map':
        return Object.fromEntries(code.entries.map(([key, value]) => [key, this.of(value, element)]));
      case 'apply':
        return this.#apply(code, element);
      case 'and':
        return this.of(code.left, element) === true && this.of(code.right, element) === true;
      case 'or':
        return this.of(code.left, element) === true || this.of(code.right, element) === true;
      case 'coalesce':
        return this.of(code.left, element) ?? this.of(code.right, element);
      case 'choice':
        return this.of(this.of(code.when, element) === true ? code.then : code.otherwise, element);
      case 'present':
        return this.#present(code, element);
      case 'optional':
        return this.#optional(code.of, element);
      case 'chain':
        return this.#chain(code.of, element);
      case 'entry':
        return this.#entry(code, element);
      case 'item':
        return this.#item(code, element);
      case 'predicate':
        return this.#predicate(code, element);
    }
  }

  /** Where errors are to point to from now on. */
  #at(code: Code): void {
    this.#meter.at = code.at;
  }

  #apply(code: Code & { kind: 'apply' }, element: Element | undefined): Value {
    const args = code.args.map((arg) => this.of(arg, element));
    this.#at(code);
    return code.apply(args, this.#meter);
  }

  #present(code: Code & { kind: 'present' }, element: Element | undefined): Value {
    const value = this.of(code.of, element);
    if (value !== null) return value;
    this.#at(code);
    return this.#meter.fail(
      'runtime',
      'this is nil, and a value is needed: look for it with ?. or give another one with ??',
    );
  }

  #optional(of: Code, element: Element | undefined): Value {
    const value = this.of(of, element);
    if (value === null) throw chainEnds;
    return value;
  }

  #chain(of: Code, element: Element | undefined): Value {
    try {
      return this.of(of, element);
    } catch (err) {
      if (err === chainEnds) return null;
      throw err;
    }
  }

  #entry(code: Code & { kind: 'entry' }, element: Element | undefined): Value {
    const map = this.of(code.of, element) as ValueMap;
    return entryOf(map, textOf(this.of(code.key, element))) ?? code.missing;
  }

  #item(code: Code & { kind: 'item' }, element: Element | undefined): Value {
    const list = this.of(code.of, element) as readonly Value[];
    const index = Number(this.of(code.index, element));
    const value = list.at(index);
    if (value !== undefined) return value;
    this.#at(code);
    return this.#meter.fail('runtime', `there is no element ${index}: the list has ${list.length}`);
  }

  #predicate(code: PredicateCode, element: Element | undefined): Value {
    const list = this.of(code.list, element) as readonly Value[];
    const of = (value: Value, index: number): Value => this.of(code.body, { value, index });
    const holds = (value: Value, index: number): boolean => of(value, index) === true;
    switch (code.name) {
      case 'all':
        return list.every(holds);
      case 'any':
        return list.some(holds);
      case 'none':
        return !list.some(holds);
      case 'one':
        return list.filter(holds).length === 1;
      case 'filter':
        return list.filter(holds);
      case 'count':
        return list.filter(holds).length;
      case 'map':
        return list.map(of);
      case 'find':
        return list.find(holds) ?? null;
      case 'findIndex': {
        const index = list.findIndex(holds);
        return index < 0 ? null : index;
      }
    }
  }
}
