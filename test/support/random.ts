/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** One of them, by a random number. */
export function oneOf<T>(items: readonly T[], random: () => number): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('there is nothing to choose from');
  return item;
}

/** One of them, by a random number: the more often, the more likely. */
export function oneByWeight<T extends { readonly often: number }>(items: readonly T[], random: () => number): T {
  let left = random() * items.reduce((total, { often }) => total + often, 0);
  const item = items.find(({ often }) => (left -= often) < 0) ?? items[0];
  if (item === undefined) throw new Error('there is nothing to choose from');
  return item;
}
