import { z } from 'zod';
import { endActions, type RecordAction } from '../../activities/history/record.ts';

const text = z.string();

const actions = [
  'started',
  'update',
  'update-completed',
  'update-failed',
  'signal',
  'status',
  'cancel-requested',
  'reset',
  ...endActions,
] as const satisfies readonly RecordAction[];

/** One line of `history export`. Inside one major version fields are only added, so further ones are allowed. */
export const recordSchema = z.looseObject({
  id: text,
  at: z.iso.datetime(),
  kind: text,
  operation: text,
  run: text,
  vm: text.optional(),
  batch: text.optional(),
  action: z.enum(actions),
  name: text.optional(),
  by: text.optional(),
  reason: text.optional(),
  from: text.optional(),
  to: text.optional(),
  detail: z.record(text, z.unknown()).optional(),
});
