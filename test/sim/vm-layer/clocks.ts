/** Named stopwatches of one VM. Each runs from the round in which it is first asked for, until a round that doesn't ask for it. */
export interface Clocks {
  elapsed(clock: string): number;
  /** Ends a round. */
  settle(): void;
}

export function createClocks(): Clocks {
  let running = new Map<string, number>();
  let asked = new Map<string, number>();
  return {
    elapsed(clock) {
      const now = performance.now();
      const since = asked.get(clock) ?? running.get(clock) ?? now;
      asked.set(clock, since);
      return now - since;
    },
    settle() {
      running = asked;
      asked = new Map();
    },
  };
}
