/**
 * What the work makes of each item, in their order, with so many under way at once. A failure comes in its turn, after the results
 * before it.
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void> {
  const iterator = items[Symbol.asyncIterator]();
  const waiting: Promise<Result>[] = [];
  const add = (result: Promise<Result>): void => {
    // Looked at when its turn comes; until then it must not count as unhandled.
    result.catch(() => undefined);
    waiting.push(result);
  };
  let isOver = false;
  try {
    while (!isOver || waiting.length > 0) {
      if (isOver || waiting.length >= atOnce) {
        const next = waiting.shift();
        if (next !== undefined) yield await next;
        continue;
      }
      try {
        const next = await iterator.next();
        if (next.done === true) isOver = true;
        else add(work(next.value));
      } catch (error) {
        isOver = true;
        add(Promise.reject(error instanceof Error ? error : new Error(String(error))));
      }
    }
  } finally {
    await iterator.return?.();
  }
}
