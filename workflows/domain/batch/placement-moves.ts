import type { Placement } from './records.ts';

/** One thing that a placement says otherwise than another; `field` is `target`, `project` or `pool:<disk>`. */
export interface PlacementMove {
  readonly field: string;
  /** Empty: nothing. */
  readonly expected: string;
  readonly found: string;
}

/** What would have to be copied to another place: target, project and the pool of each disk. */
export function movesIn(expected: Placement, found: Placement): PlacementMove[] {
  const disks = [...new Set([...Object.keys(expected.storage_pools), ...Object.keys(found.storage_pools)])];
  const moves: PlacementMove[] = [
    { field: 'target', expected: expected.target_name, found: found.target_name },
    { field: 'project', expected: expected.target_project, found: found.target_project },
    ...disks.map((disk) => ({
      field: `pool:${disk}`,
      expected: poolOf(expected, disk),
      found: poolOf(found, disk),
    })),
  ];
  return moves.filter((move) => move.expected !== move.found);
}

export function movesInWords(moves: readonly PlacementMove[], side: 'expected' | 'found' | 'both'): string {
  return moves
    .map(({ field, ...move }) =>
      side === 'both' ? `${field} ${named(move.expected)} → ${named(move.found)}` : `${field} ${named(move[side])}`,
    )
    .join(', ');
}

function poolOf({ storage_pools }: Placement, disk: string): string {
  return (Object.hasOwn(storage_pools, disk) ? storage_pools[disk] : undefined) ?? '';
}

function named(value: string): string {
  return value === '' ? 'none' : value;
}
