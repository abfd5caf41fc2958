import pico from 'picocolors';

export type ColorMode = 'auto' | 'always' | 'never';
export type Paint = ReturnType<typeof pico.createColors>;

/** Whether a stream gets colour: the flag first, then `NO_COLOR`, then `FORCE_COLOR`, then what the stream is. */
export function wantsColor(
  mode: ColorMode,
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  if (mode !== 'auto') return mode === 'always';
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false;
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '') return env.FORCE_COLOR !== '0';
  return isTerminal && env.TERM !== 'dumb';
}

export function createPaint(enabled: boolean): Paint {
  return pico.createColors(enabled);
}
