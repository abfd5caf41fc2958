import { LruMap } from '../../ova/lru-map.ts';
import { limits } from './limits.ts';
import type { Meter } from './meter.ts';
import type { Apply } from './overload.ts';
import { compilePattern, type Pattern } from './re2-adapter.ts';
import { textOf } from './value.ts';

/** `text matches 'pattern'` with a pattern that is compiled already. */
export function matchesFixed(pattern: Pattern): Apply {
  return ([text], meter) => isIn(pattern, textOf(text), meter);
}

/** With a pattern made of data: what is wrong with it is known only now. */
export const matchesDynamic: Apply = ([text, pattern], meter) => {
  const source = textOf(pattern);
  if (source.length > limits.dynamicPattern)
    meter.fail('limit', `a pattern that is made of data may have ${limits.dynamicPattern} characters`);
  return isIn(recent.get(source) ?? compile(source, meter), textOf(text), meter);
};

const recent = new LruMap<Pattern>(limits.recentPatterns);

function compile(source: string, meter: Meter): Pattern {
  const compiled = compilePattern(source);
  meter.look();
  if (typeof compiled === 'string') return meter.fail('runtime', compiled);
  recent.set(source, compiled);
  return compiled;
}

function isIn(pattern: Pattern, text: string, meter: Meter): boolean {
  meter.charge(Math.ceil((text.length * pattern.size) / limits.matchesPerStep));
  return pattern.isIn(text);
}
