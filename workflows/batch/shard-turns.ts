import type { MemberRow, ShardInput } from '../contracts/batch.ts';
import { nextTurns, turnPatienceMs } from '../domain/batch/turns.ts';
import { omit } from '../domain/omit.ts';
import { Alarm } from '../shared/alarm.ts';

/** Lets the members of a large batch begin one after the other. */
export class ShardTurns {
  /** How many of its members may be at work at once. */
  places: number;
  readonly #rows: Map<string, MemberRow>;
  readonly #tell: (uuids: readonly string[]) => Promise<void>;
  #isPaused: boolean;
  #lastAt = Date.now();
  readonly #impatience = new Alarm('let others begin');

  constructor(
    { places = Infinity, paused = false }: Pick<ShardInput, 'places' | 'paused'>,
    rows: Map<string, MemberRow>,
    tell: (uuids: readonly string[]) => Promise<void>,
  ) {
    this.places = places;
    this.#isPaused = paused;
    this.#rows = rows;
    this.#tell = tell;
  }

  /** Its batch is stopped, or goes on. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#lastAt = Date.now();
  }

  /** Nobody has got through for long. */
  get areLate(): boolean {
    return this.#impatience.rang();
  }

  /** Whose turn it is goes on. When nobody has got through for long, some go on nevertheless. */
  async give(): Promise<void> {
    const rows = [...this.#rows.values()];
    const uuids = this.#isPaused ? [] : nextTurns(rows, this.places, this.areLate);
    if (uuids.length > 0) await this.#tell(uuids);
    for (const uuid of uuids) {
      const row = this.#rows.get(uuid);
      if (row !== undefined) this.#rows.set(uuid, omit(row, 'later'));
    }
    if (uuids.length > 0) this.#lastAt = Date.now();
    const isAnyLater = !this.#isPaused && [...this.#rows.values()].some(({ later }) => later === true);
    this.#impatience.set(isAnyLater ? this.#lastAt + turnPatienceMs : undefined);
  }

  kept(): Pick<ShardInput, 'places' | 'paused'> {
    return { ...(this.places === Infinity ? {} : { places: this.places }), paused: this.#isPaused };
  }
}
