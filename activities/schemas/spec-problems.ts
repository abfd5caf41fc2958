import type { z } from 'zod';
import type { BatchSpec } from '../../workflows/domain/batch/records.ts';
import { mistakesIn, type Mistake } from './batch-rules.ts';

/** A mistake; `isKey`: the field shouldn't be there at all. */
export interface FoundMistake extends Mistake {
  readonly isKey?: boolean;
}

export type Checked = { readonly spec: BatchSpec } | { readonly mistakes: readonly FoundMistake[] };

/** A batch in the form of this schema, or everything that is wrong with it. `now` and `previous` are those of `mistakesIn`. */
export function checkSpec(value: unknown, schema: z.ZodType<BatchSpec>, now: number, previous?: BatchSpec): Checked {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (!parsed.success) return { mistakes: parsed.error.issues.flatMap(ofIssue) };
  const mistakes = mistakesIn(parsed.data, now, previous);
  return mistakes.length === 0 ? { spec: parsed.data } : { mistakes };
}

function ofIssue(issue: z.core.$ZodIssue): FoundMistake[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ path: [...path, key], isKey: true, message: 'is no field that is known here' }));
  return [{ path, message: wordsOf(issue), ...(issue.code === 'invalid_key' ? { isKey: true } : {}) }];
}

/** What zod says, as the end of a sentence that begins with the field. */
function wordsOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${kindOf(issue.expected)}`;
    case 'invalid_union':
      return `must be ${issue.errors.flatMap(([first]) => (first?.code === 'invalid_type' ? [kindOf(first.expected)] : [])).join(' or ')}`;
    case 'invalid_value':
      return `must be ${issue.values.map(String).join(' or ')}`;
    case 'too_small':
      return issue.origin === 'string' ? 'is empty' : `must be at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'string' ? issue.message : `must be at most ${issue.maximum}`;
    case 'invalid_key':
      return issue.issues[0]?.message ?? 'is no key that is known here';
    default:
      return issue.message;
  }
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of fields',
  record: 'a mapping of fields',
};

function kindOf(expected: string): string {
  return kinds[expected] ?? expected;
}
