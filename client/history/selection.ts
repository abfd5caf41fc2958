import { recordedQuery } from '../../activities/history/names.ts';
import type { HistoryRecord } from '../../activities/history/record.ts';
import { searchKeys } from '../../workflows/contracts/attributes.ts';
import { spanMs } from '../../workflows/domain/time.ts';
import { usageError } from '../errors.ts';
import type { ExecutionView } from '../gateway.ts';

export interface SelectionFlags {
  readonly since?: string;
  readonly until?: string;
  readonly batch?: string;
  readonly vm?: string;
  readonly kind?: string;
}

/** Which records are wanted. Times are ISO 8601 in UTC, so that they compare as text. */
export class Selection {
  readonly #since: string | undefined;
  readonly #until: string | undefined;
  readonly #flags: SelectionFlags;

  constructor(flags: SelectionFlags, now: Date) {
    this.#flags = flags;
    this.#since = moment('--since', flags.since, now);
    this.#until = moment('--until', flags.until, now);
    if (this.#since !== undefined && this.#until !== undefined && this.#since >= this.#until)
      throw usageError(`--since ${this.#since} is not before --until ${this.#until}`, 'give an earlier --since');
  }

  has({ at, kind, vm, batch }: HistoryRecord): boolean {
    if (this.#since !== undefined && at < this.#since) return false;
    if (this.#until !== undefined && at >= this.#until) return false;
    return this.#isAbout({ kind, vm, batch });
  }

  /** Whether a run can have such records. */
  mayHave({ attributes }: ExecutionView): boolean {
    const of = (key: keyof typeof searchKeys): unknown => attributes[searchKeys[key].name];
    return this.#isAbout({ kind: of('kind'), vm: of('vm'), batch: of('batch') });
  }

  #isAbout({ kind, vm, batch }: { readonly kind: unknown; readonly vm: unknown; readonly batch: unknown }): boolean {
    const wanted = this.#flags;
    const isVm = wanted.vm === undefined || vm === wanted.vm || (typeof vm === 'string' && nameIn(vm) === wanted.vm);
    return isVm && (wanted.kind ?? kind) === kind && (wanted.batch ?? batch) === batch;
  }

  /** Visibility query for the runs that were open in the time span. */
  get query(): string {
    const since = this.#since === undefined ? '' : ` AND (CloseTime IS NULL OR CloseTime >= '${this.#since}')`;
    const until = this.#until === undefined ? '' : ` AND StartTime < '${this.#until}'`;
    return `${recordedQuery}${since}${until}`;
  }
}

/** The name without its namespace or folder. */
function nameIn(vm: string): string {
  return vm.slice(vm.lastIndexOf('/') + 1);
}

function moment(flag: string, text: string | undefined, now: Date): string | undefined {
  if (text === undefined) return undefined;
  const span = spanMs(text);
  const at = span === undefined ? Date.parse(text) : now.getTime() - span;
  if (Number.isNaN(at) || (span === undefined && !/^\d{4}-\d\d-\d\d/.test(text)))
    throw usageError(`${flag}: "${text}" is no time`, 'write a span with its unit, 7d or 12h, or 2030-03-01T22:00:00Z');
  return new Date(at).toISOString();
}
