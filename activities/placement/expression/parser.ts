import { ExpressionError, type ExpressionErrorKind } from './error.ts';
import { tokenize } from './lexer.ts';
import { limits } from './limits.ts';
import { binaryOperator, unaryOperator, type BinaryOperator } from './operators.ts';
import { isPredicate } from './predicates.ts';
import type { MapEntry, Node } from './syntax.ts';
import type { Token } from './token.ts';
import { bool, nil, string } from './type.ts';
import { textOf } from './value.ts';

/** The tree of an expression. Fails with `syntax` or `limit`. */
export function parse(text: string): Node {
  return new Parser(text).whole();
}

type WithoutPlace<N> = N extends Node ? Omit<N, 'at'> : never;

const constants: ReadonlyMap<string, Node & { kind: 'literal' }> = new Map([
  ['true', { kind: 'literal', at: 0, value: true, type: bool }],
  ['false', { kind: 'literal', at: 0, value: false, type: bool }],
  ['nil', { kind: 'literal', at: 0, value: null, type: nil }],
]);

/** Precedence climbing after Pratt. What may follow an operand is in the table of operators alone. */
class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #position = 0;
  #nodes = 0;
  #depth = 0;
  /** Predicates that the current token is inside of: `#` and `.field` mean their element. */
  #predicates = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokenize(text);
  }

  whole(): Node {
    const node = this.#expression();
    if (this.#token.kind !== 'end') this.#fail(`${this.#found()} can't follow here`);
    return node;
  }

  /** One inside another; a choice binds loosest. */
  #expression(): Node {
    return this.#deeper(() => this.#choice(this.#operation(0)));
  }

  #choice(when: Node): Node {
    const { at } = this.#token;
    if (!this.#take('?')) return when;
    const then = this.#expression();
    this.#expect(':', 'of the choice');
    return this.#node({ kind: 'choice', when, then, otherwise: this.#expression() }, at);
  }

  #operation(lowest: number): Node {
    let left = this.#operand();
    for (;;) {
      const found = this.#operatorHere(lowest);
      if (found === undefined) return left;
      left = this.#withOperator(left, found.operator, found.negated);
    }
  }

  /** The operator at the current token, `not` in front of it included; undefined when none goes on here. */
  #operatorHere(lowest: number): { operator: BinaryOperator; negated: boolean } | undefined {
    const negated = this.#is('not');
    const token = negated ? this.#tokens[this.#position + 1] : this.#token;
    const operator = token?.kind === 'operator' ? binaryOperator(token.text) : undefined;
    if (negated && operator?.negatable !== true) return this.#fail('"not" can\'t follow here');
    return operator === undefined || operator.precedence < lowest ? undefined : { operator, negated };
  }

  #withOperator(left: Node, operator: BinaryOperator, negated: boolean): Node {
    const { at } = this.#token;
    if (negated) this.#position += 1;
    const { text } = this.#next();
    const right = this.#rightOf(operator);
    const node = this.#node({ kind: 'binary', operator: text, left, right }, at);
    return negated ? this.#node({ kind: 'unary', operator: 'not', operand: node }, at) : node;
  }

  #rightOf({ precedence, rightToLeft }: BinaryOperator): Node {
    if (rightToLeft === true) return this.#deeper(() => this.#operation(precedence));
    return this.#operation(precedence + 1);
  }

  #operand(): Node {
    const { kind, text, at } = this.#token;
    const sign = kind === 'operator' ? unaryOperator(text) : undefined;
    if (sign === undefined) return this.#postfixes(this.#primary());
    this.#next();
    const operand = this.#deeper(() => this.#operation(sign.precedence));
    return this.#node({ kind: 'unary', operator: text, operand }, at);
  }

  #primary(): Node {
    const token = this.#token;
    if (this.#take('(')) {
      const inner = this.#expression();
      this.#expect(')', 'of the bracket');
      return inner;
    }
    if (this.#is('#') || this.#is('.')) return this.#element();
    if (this.#take('[')) return this.#node({ kind: 'list', items: this.#list(']') }, token.at);
    if (this.#take('{')) return this.#node({ kind: 'map', entries: this.#entries() }, token.at);
    if (token.kind !== 'literal' && token.kind !== 'name') return this.#fail(`${this.#found()} can't stand here`);
    this.#next();
    if (token.kind === 'literal')
      return this.#node({ kind: 'literal', value: token.value, type: token.type }, token.at);
    const constant = constants.get(token.text);
    if (constant !== undefined) return this.#node(constant, token.at);
    if (this.#take('(')) return this.#call(token.text, token.at);
    return this.#node({ kind: 'name', name: token.text }, token.at);
  }

  /** `#`, `#index`, or nothing in front of `.field`. */
  #element(): Node {
    const { at } = this.#token;
    if (this.#predicates === 0)
      this.#fail('"#" and ".field" mean the element of a predicate such as any(disks, .shared)');
    if (!this.#take('#')) return this.#node({ kind: 'element', part: 'value' }, at);
    const next = this.#token;
    if (next.kind !== 'name' || next.at !== at + 1) return this.#node({ kind: 'element', part: 'value' }, at);
    if (next.text !== 'index') this.#fail(`there is "#" and "#index", but no "#${next.text}"`);
    this.#next();
    return this.#node({ kind: 'element', part: 'index' }, at);
  }

  #postfixes(start: Node): Node {
    let node = start;
    let isChain = false;
    for (;;) {
      const { at } = this.#token;
      const optional = this.#take('?.');
      isChain ||= optional;
      if (this.#take('[')) node = this.#index(node, optional, at);
      else if (optional || this.#take('.')) node = this.#field(node, optional, at);
      else return isChain ? this.#node({ kind: 'chain', of: node }, start.at) : node;
    }
  }

  #field(of: Node, optional: boolean, at: number): Node {
    const { kind, text: name } = this.#next();
    // Words that are operators elsewhere are names here.
    if (kind !== 'name' && !(kind === 'operator' && /^\w/.test(name))) this.#failAt(at, 'a name must follow the dot');
    if (this.#is('(')) this.#failAt(at, `values have no methods: .${name}() can't be called`, 'type');
    return this.#node({ kind: 'field', of, name, optional }, at);
  }

  #index(of: Node, optional: boolean, at: number): Node {
    const from = this.#is(':') ? undefined : this.#expression();
    if (from !== undefined && !this.#is(':')) {
      this.#expect(']', 'of the index');
      return this.#node({ kind: 'index', of, index: from, optional }, at);
    }
    if (optional) this.#fail('a part of a list is taken without "?."');
    this.#expect(':', 'of the part');
    const to = this.#is(']') ? undefined : this.#expression();
    this.#expect(']', 'of the part');
    return this.#node({ kind: 'slice', of, ...(from && { from }), ...(to && { to }) }, at);
  }

  #call(name: string, at: number): Node {
    if (!isPredicate(name)) return this.#node({ kind: 'call', name, args: this.#list(')') }, at);
    const list = this.#expression();
    const body = this.#take(',') && !this.#is(')') ? this.#predicateBody() : undefined;
    this.#take(',');
    this.#expect(')', `of ${name}`);
    return this.#node({ kind: 'predicate', name, list, ...(body && { body }) }, at);
  }

  #predicateBody(): Node {
    this.#predicates += 1;
    const inBraces = this.#take('{');
    const body = this.#expression();
    if (inBraces) this.#expect('}', 'of the predicate');
    this.#predicates -= 1;
    return body;
  }

  /** Expressions with commas between, and perhaps one behind the last, up to a bracket. */
  #list(end: ')' | ']'): Node[] {
    const items: Node[] = [];
    while (!this.#take(end)) {
      items.push(this.#expression());
      if (!this.#is(end)) this.#expect(',', `or "${end}"`);
    }
    return items;
  }

  #entries(): MapEntry[] {
    const entries: MapEntry[] = [];
    while (!this.#take('}')) {
      const { at, kind, text: word, ...key } = this.#next();
      const isText = kind === 'literal' && 'type' in key && key.type === string;
      if (kind !== 'name' && !isText) this.#failAt(at, 'the key of a map is a name or a text');
      this.#expect(':', 'behind the key');
      entries.push({ at, key: isText ? textOf(key.value) : word, value: this.#expression() });
      if (!this.#is('}')) this.#expect(',', 'or "}"');
    }
    return entries;
  }

  get #token(): Token {
    return this.#tokens[this.#position] ?? { kind: 'end', text: '', at: this.#text.length };
  }

  #next(): Token {
    const token = this.#token;
    if (token.kind === 'end') this.#fail(`${this.#found()} can't stand here`);
    this.#position += 1;
    return token;
  }

  #is(text: string): boolean {
    const token = this.#token;
    return (token.kind === 'operator' || token.kind === 'bracket') && token.text === text;
  }

  #take(text: string): boolean {
    const isHere = this.#is(text);
    if (isHere) this.#position += 1;
    return isHere;
  }

  #expect(text: string, where: string): void {
    if (!this.#take(text)) this.#fail(`"${text}" ${where} is missing in front of ${this.#found()}`);
  }

  #found(): string {
    const token = this.#token;
    return token.kind === 'end' ? 'the end of the expression' : `"${token.text}"`;
  }

  #node(node: WithoutPlace<Node>, at: number): Node {
    this.#nodes += 1;
    if (this.#nodes > limits.nodes) this.#failAt(at, `it has more than ${limits.nodes} parts`, 'limit');
    return { ...node, at };
  }

  #deeper(parse: () => Node): Node {
    this.#depth += 1;
    if (this.#depth > limits.depth) this.#fail(`it is nested deeper than ${limits.depth} levels`, 'limit');
    const node = parse();
    this.#depth -= 1;
    return node;
  }

  #fail(problem: string, kind: ExpressionErrorKind = 'syntax'): never {
    return this.#failAt(this.#token.at, problem, kind);
  }

  #failAt(at: number, problem: string, kind: ExpressionErrorKind = 'syntax'): never {
    throw new ExpressionError(kind, problem, this.#text, at);
  }
}
