/** Names that a line shows; the rest is a number. */
const shown = 10;

/** `a, b and 3 more`. `total`: how many there are, where not all are given. */
export function namesText(names: readonly string[], separator = ', ', total = names.length): string {
  const first = names.slice(0, shown);
  const rest = total - first.length;
  return `${first.join(separator)}${rest > 0 ? ` and ${String(rest)} more` : ''}`;
}

/** `web-2` before `web-10`. */
export const naturally = new Intl.Collator('en', { numeric: true });
