import type {
  AcceptedOperation,
  ActiveOperation,
  CoordinatorState,
  OperationNote,
  Submission,
  VmopRef,
} from '../contracts/vmop.ts';
import { remembered } from './budgets.ts';

/** What a coordinator knows: the operations of its VM that are not over, in their order, and which it has seen. */
export class Ledger {
  readonly #active = new Map<string, ActiveOperation>();
  readonly #recent = new Map<string, number>();
  #nextSeq = 1;

  constructor(state: CoordinatorState | undefined) {
    if (state === undefined) return;
    this.#nextSeq = state.nextSeq;
    for (const [uid, seq] of state.recent) this.#recent.set(uid, seq);
    for (const op of state.active) this.#active.set(op.uid, op);
  }

  /** In the order of their acceptance. */
  get active(): readonly ActiveOperation[] {
    return [...this.#active.values()].sort((a, b) => a.seq - b.seq);
  }

  get(uid: string): ActiveOperation | undefined {
    return this.#active.get(uid);
  }

  /** Oldest that waits for its decision. */
  get queued(): ActiveOperation | undefined {
    return this.active.find(({ stage }) => stage === 'queued');
  }

  olderThan({ seq }: AcceptedOperation): readonly ActiveOperation[] {
    return this.active.filter((op) => op.seq < seq);
  }

  get snapshot(): CoordinatorState {
    return { nextSeq: this.#nextSeq, active: this.active, recent: [...this.#recent].slice(-remembered) };
  }

  /** What the cluster knew before: numbers that were given stay, new ones are higher than all of them. */
  adopt(found: readonly (VmopRef & { readonly seq?: number; readonly deleted: boolean })[], highestSeq: number): void {
    this.#nextSeq = Math.max(this.#nextSeq, highestSeq + 1);
    for (const { deleted, ...op } of found) {
      if (this.#recent.has(op.uid)) continue;
      const seq = op.seq ?? this.#nextSeq++;
      this.#enter({ ...op, seq, stage: 'queued', ...(deleted ? { deleted } : {}) });
    }
  }

  /** The same operation gets the same number however often it comes. `again`: it has lost its workflow. */
  accept({ op, again = false }: Submission): number {
    const known = this.#recent.get(op.uid);
    if (known === undefined) {
      const seq = this.#nextSeq++;
      this.#enter({ ...op, seq, stage: 'queued', ...(again ? { again } : {}) });
      return seq;
    }
    const before = this.#active.get(op.uid);
    if (again && before?.stage !== 'queued') {
      this.#enter({ ...(before ?? op), seq: known, stage: 'queued', again });
    }
    return known;
  }

  update(uid: string, change: Partial<ActiveOperation>): void {
    const before = this.#active.get(uid);
    if (before !== undefined) this.#active.set(uid, { ...before, ...change });
  }

  drop(uids: readonly string[]): void {
    for (const uid of uids) this.#active.delete(uid);
  }

  /**
   * What a fenced operation left is written by the one that took over: it counts until that one is over too, and longer where that
   * one did not come to it.
   */
  end({ uid, fenced = false, leftOver = [] }: OperationNote): void {
    if (fenced) return;
    const supersedes = this.#active.get(uid)?.supersedes ?? [];
    this.drop([uid, ...supersedes.filter((older) => !leftOver.includes(older))]);
  }

  #enter(op: ActiveOperation): void {
    this.#active.set(op.uid, op);
    this.#recent.delete(op.uid);
    this.#recent.set(op.uid, op.seq);
  }
}
