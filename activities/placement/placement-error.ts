/** A batch doesn't say where this instance goes, or says something that can't be. Concerns no other instance. */
export class PlacementError extends Error {
  override readonly name = 'PlacementError';
  readonly code = 'PLACEMENT_FAILED';
}
