import { z } from 'zod';

/** What documents of several kinds are made of. Fields are only added, so further ones are allowed. */
const text = z.string();

export const step = z.looseObject({
  id: text,
  title: text,
  state: z.enum(['pending', 'active', 'done', 'skipped', 'failed']),
  detail: text.optional(),
});

export const conflict = z.looseObject({
  id: text,
  code: text,
  what: text,
  expected: text,
  found: text,
  since: z.iso.datetime(),
  options: z.array(z.looseObject({ decision: text, effect: text })),
});

export const failure = z.looseObject({ type: text, message: text, details: z.looseObject({ code: text }).optional() });

export const execution = z.enum([
  'running',
  'completed',
  'failed',
  'cancelled',
  'terminated',
  'timed-out',
  'continued',
  'unknown',
]);
