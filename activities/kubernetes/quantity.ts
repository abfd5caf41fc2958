/** Powers of what the suffixes of quantities stand for. */
const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const quantity = /^([+-]?\d*\.?\d+|[+-]?\d+\.)(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/;

/** A quantity of the API (`500m`, `2Gi`, `1e3`, 4) as a number of its unit; 0 for what is none. */
export function quantityOf(value: unknown): number {
  if (typeof value === 'number') return value;
  const match = typeof value === 'string' ? quantity.exec(value.trim()) : null;
  if (match === null) return 0;
  const [, digits = '0', exponent, suffix = ''] = match;
  return Number(digits) * (exponent === undefined ? (suffixes[suffix] ?? 1) : 10 ** Number(exponent));
}
