/** One thing that set-up looked at: what it was and what it is now. */
export interface SetupItem {
  readonly what: string;
  readonly name: string;
  readonly was: 'present' | 'missing' | 'different';
  readonly now: string;
}
