import type { Page } from '../../workflows/contracts/cluster-lookup.ts';

/** Pages that are read at most: some 15,000 rows. */
const mostPages = 50;

/** Every page of a question, one after the other. `look` answers the page behind the one that ended with `after`. */
export async function pagesOf<Item>(
  look: (after: { readonly after?: string }) => Promise<Page<Item>>,
): Promise<{ readonly items: readonly Item[]; readonly isComplete: boolean }> {
  const items: Item[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < mostPages; pages++) {
    const page = await look(after === undefined ? {} : { after });
    items.push(...page.items);
    if (page.next === undefined) return { items, isComplete: true };
    after = page.next;
  }
  return { items, isComplete: false };
}
