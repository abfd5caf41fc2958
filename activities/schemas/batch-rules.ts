import type { BatchSpec } from '../../workflows/domain/batch/records.ts';
import { isApiName } from '../../workflows/domain/batch/effective.ts';
import { specProblems } from '../../workflows/domain/batch/spec-problems.ts';
import { windowsProblems } from '../../workflows/domain/batch/window-problems.ts';
import { byteLength } from '../../workflows/domain/text.ts';
import { parsePath, type SpecPath } from './spec-path.ts';

/** A mistake and the field that it is in. */
export interface Mistake {
  readonly path: SpecPath;
  readonly message: string;
}

/** A batch is carried from run to run of its workflow: more than this doesn't fit. Bytes of JSON. */
const longestSpec = 150_000;

/**
 * What is wrong with a batch whose fields have the right types, and windows that are over. `previous`: the batch before; a window of
 * it may stay as it was. `now`: epoch milliseconds.
 */
export function mistakesIn(spec: BatchSpec, now: number, previous?: BatchSpec): Mistake[] {
  const before = { windows: previous?.migration_windows ?? [], assigned: [] };
  const found = [...specProblems(spec), ...windowsProblems(spec.migration_windows, now, before)];
  return [
    ...windowNames(spec),
    ...found.map(({ path, message }) => ({ path: parsePath(path), message })),
    ...(byteLength(JSON.stringify(spec)) > longestSpec
      ? [{ path: [], message: `the batch is larger than ${longestSpec / 1000} KB: make two of it` }]
      : []),
  ];
}

function windowNames({ migration_windows }: BatchSpec): Mistake[] {
  return migration_windows.flatMap(({ name }, place) => {
    if (isApiName(name)) return [];
    const message =
      'is no name: it begins and ends with a letter or digit, has 1 to 64 characters, without blanks and $ ? & + " \' ` * /';
    return [{ path: ['migration_windows', place, 'name'], message }];
  });
}
