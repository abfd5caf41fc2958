import type { Scalar } from 'yaml';

/**
 * Where a character of a scalar's value stands in the YAML text: quotes, escapes, folded lines and the indentation of blocks are
 * in between. Undefined: it can't be told.
 */
export function offsetInSource(
  text: string,
  { value, range, type }: Scalar,
  inside: { readonly line: number; readonly column: number },
): number | undefined {
  if (typeof value !== 'string' || !range) return undefined;
  const [begin, end] = range;
  const source = text.slice(begin, end);
  const wanted = indexOf(value, inside);
  switch (type) {
    case 'BLOCK_LITERAL':
    case 'BLOCK_FOLDED':
      return begin + walk(source, value, wanted, bodyOf(source), noEscapes);
    case 'QUOTE_SINGLE':
      return begin + walk(source, value, wanted, 1, singleQuoted);
    case 'QUOTE_DOUBLE':
      return begin + walk(source, value, wanted, 1, doubleQuoted);
    default:
      return begin + walk(source, value, wanted, 0, noEscapes);
  }
}

function indexOf(value: string, { line, column }: { readonly line: number; readonly column: number }): number {
  const lines = value.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  // Columns count characters, not the halves that some of them consist of.
  const within = [...(lines[line - 1] ?? '')].slice(0, column - 1).join('').length;
  return Math.min(value.trimEnd().length, before + within);
}

/** Behind the line that says how the block is to be read. */
function bodyOf(source: string): number {
  return source.indexOf('\n') + 1;
}

/** How many characters of the source stand for one of the value; 0: it stands for itself. */
type Escapes = (source: string, at: number) => number;

const noEscapes: Escapes = () => 0;
const singleQuoted: Escapes = (source, at) => (source.startsWith("''", at) ? 2 : 0);
const doubleQuoted: Escapes = (source, at) => {
  if (source.charAt(at) !== '\\') return 0;
  return { x: 4, u: 6, U: 10 }[source.charAt(at + 1)] ?? 2;
};

/** Goes through value and source side by side; blanks that only the source has are indentation and folds. */
function walk(source: string, value: string, wanted: number, start: number, escapes: Escapes): number {
  let at = start;
  for (let i = 0; ; i++) {
    const char = value.charAt(i);
    const before = at;
    if (i === wanted && value.slice(i).trim() === '') return before;
    while (escapes(source, at) === 0 && source.charAt(at) !== char && /\s/.test(source.charAt(at))) at++;
    if (i === wanted) return at;
    const escaped = escapes(source, at);
    // A fold was passed: it is this blank.
    const isPassed = escaped === 0 && at > before && source.charAt(at) !== char;
    at += isPassed ? 0 : Math.max(1, escaped);
  }
}
