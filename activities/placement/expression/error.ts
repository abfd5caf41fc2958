/**
 * What kind of mistake it is. `syntax`: the text is no expression. `type`: it is one, and can't be evaluated for any record.
 * `limit`: it is too large, or evaluating it costs too much. `runtime`: it can't be evaluated for this record.
 */
export type ExpressionErrorKind = 'syntax' | 'type' | 'limit' | 'runtime';

/** Long expressions are quoted up to here. */
const longestQuote = 200;

/** An expression that can't be compiled or evaluated. The place is where in its text the reason is: line and column from 1. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  readonly kind: ExpressionErrorKind;
  /** The reason alone, without place and text. */
  readonly problem: string;
  readonly line: number;
  readonly column: number;
  readonly expression: string;

  constructor(kind: ExpressionErrorKind, problem: string, expression: string, offset: number) {
    const { line, column } = placeOf(expression, offset);
    const quote = expression.length > longestQuote ? `${expression.slice(0, longestQuote)}…` : expression;
    super(`${problem} (line ${line}, column ${column} of the expression ${quote})`);
    this.kind = kind;
    this.problem = problem;
    this.line = line;
    this.column = column;
    this.expression = expression;
  }
}

/** Columns count characters, not the halves that some of them consist of. */
function placeOf(text: string, offset: number): { line: number; column: number } {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: [...(lines.at(-1) ?? '')].length + 1 };
}
