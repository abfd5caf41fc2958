import type { Page } from '../../workflows/contracts/cluster-lookup.ts';

/** Answers stay in the history of a workflow: a page of one is no longer than this. */
const mostBytes = 100_000;

/** As many as fit, in the order of their keys, from behind `after` on. */
export function pageBy<Item>(all: readonly Item[], keyOf: (item: Item) => string, after = ''): Page<Item> {
  const rest = all.filter((item) => keyOf(item) > after).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const items = cutToPage(rest);
  const last = items.at(-1);
  if (items.length === rest.length || last === undefined) return { items, truncated: false };
  return { items, truncated: true, next: keyOf(last) };
}

/** The first ones that fit into a page; at least one, or its reader would never get any further. */
export function cutToPage<Item>(all: readonly Item[]): readonly Item[] {
  let bytes = 0;
  const fits = all.findIndex((item) => (bytes += Buffer.byteLength(JSON.stringify(item)) + 1) > mostBytes);
  return fits === -1 ? all : all.slice(0, Math.max(1, fits));
}
