import { RE2JS, RE2JSSyntaxException } from 're2js';
import { limits } from './limits.ts';

/** A compiled pattern. Matching takes time in proportion to the text's length and the pattern's size, whatever both are. */
export interface Pattern {
  /** Instructions. */
  readonly size: number;
  /** Whether it is found anywhere in the text. */
  readonly isIn: (text: string) => boolean;
}

/** Compiles a pattern of RE2: no look-around, no back-references. The text is why that is not possible. */
export function compilePattern(pattern: string): Pattern | string {
  if (pattern.length > limits.pattern) return `the pattern is longer than ${limits.pattern} characters`;
  try {
    const compiled = RE2JS.compile(pattern);
    const size = compiled.programSize();
    if (size > limits.patternSize)
      return `the pattern "${pattern}" is too large: its repetitions make ${size} instructions`;
    return { size, isIn: (text) => compiled.test(text) };
  } catch (cause) {
    if (!(cause instanceof RE2JSSyntaxException)) throw cause;
    return `"${pattern}" is no pattern of RE2: ${cause.message.replace(/^error parsing regexp: /, '')}`;
  }
}
