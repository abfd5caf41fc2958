export interface Range {
  readonly start: number;
  readonly length: number;
}

/** What a server takes in one request, bytes. */
export interface BlockSizes {
  /** Every request begins and ends at a multiple of this. */
  readonly minimum: number;
  /** Most that a read or a write may carry. */
  readonly maximum: number;
}

/** The range that has whole blocks and the given one in it; a last block that the disk has only a part of is not gone beyond. */
export function widened({ start, length }: Range, block: number, size: number): Range {
  const first = start - (start % block);
  const end = start + length;
  return { start: first, length: Math.max(end, Math.min(size, Math.ceil(end / block) * block)) - first };
}

/** A range as what it has of its first and its last block, where that isn't all of them, and the whole blocks between. */
export function byBlocks({ start, length }: Range, block: number): (Range & { readonly isWhole: boolean })[] {
  const end = start + length;
  const firstWhole = Math.min(end, Math.ceil(start / block) * block);
  const lastWhole = Math.max(firstWhole, end - (end % block));
  const parts = [
    { start, length: firstWhole - start, isWhole: false },
    { start: firstWhole, length: lastWhole - firstWhole, isWhole: true },
    { start: lastWhole, length: end - lastWhole, isWhole: false },
  ];
  return parts.filter((part) => part.length > 0);
}

/** A range in pieces of at most so many bytes. */
export function pieces({ start, length }: Range, most: number): Range[] {
  return Array.from({ length: Math.ceil(length / most) }, (_, index) => ({
    start: start + index * most,
    length: Math.min(most, length - index * most),
  }));
}
