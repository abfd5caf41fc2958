import type { Code } from './code.ts';
import { ExpressionError } from './error.ts';
import { nullable, present, type Type } from './type.ts';

/** A part of an expression whose type is known. */
export interface Checked {
  readonly code: Code;
  readonly type: Type;
}

/** What the names mean where a part stands. */
export interface Scope {
  readonly text: string;
  /** Such as `instance`, for messages. */
  readonly subject: string;
  readonly names: Readonly<Record<string, Type>>;
  /** Type of `#` inside a predicate. */
  readonly element?: Type;
}

export function refuse(scope: Scope, at: number, problem: string): never {
  throw new ExpressionError('type', problem, scope.text, at);
}

/** For where nil is of no use: a value that may be nil is taken, and refused when it is. */
export function notNil({ code, type }: Checked): Checked {
  if (type.kind !== 'nullable') return { code, type };
  return { code: { kind: 'present', at: code.at, of: code }, type: present(type) };
}

/** A value that is looked at with `?.`: where it is nil, so is the chain. */
export function optional({ code, type }: Checked): Checked {
  if (type.kind !== 'nullable') return { code, type };
  return { code: { kind: 'optional', at: code.at, of: code }, type: present(type) };
}

/** Postfixes with `?.` among them. */
export function chain({ code, type }: Checked): Checked {
  return mayEnd(code) ? { code: { kind: 'chain', at: code.at, of: code }, type: nullable(type) } : { code, type };
}

function mayEnd(code: Code): boolean {
  switch (code.kind) {
    case 'optional':
      return true;
    case 'entry':
    case 'item':
    case 'present':
      return mayEnd(code.of);
    case 'apply':
      return code.args[0] !== undefined && mayEnd(code.args[0]);
    default:
      return false;
  }
}
