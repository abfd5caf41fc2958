/** What final checks find at a target. */
export const networkGone = {
  code: 'NETWORK_GONE',
  message: 'network lan is gone',
  expected: 'lan',
  found: 'nothing',
} as const;
