import { z } from 'zod';
import { spanMs } from '../../workflows/domain/time.ts';

/** `10m`, `1h30m`, `0s`; nothing = `0s`. Milliseconds. */
export const durationText = z.string().transform((text, context) => {
  const ms = text === '' ? 0 : spanMs(text);
  if (ms !== undefined) return Math.round(ms);
  context.addIssue({ code: 'custom', message: `"${text}" is no duration: write it with its unit: 90s, 10m, 1h30m` });
  return z.NEVER;
});
