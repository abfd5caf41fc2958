/** Servers make block volumes of whole blocks of this many bytes and keep the number that was asked for. */
const block = 8_192;

/** A size as it is written, rounded up as the server does it. */
export function sizeText(bytes: number): string {
  return `${Math.ceil(bytes / block) * block}B`;
}

const units: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** Bytes of a size such as `10GiB`; undefined: it can't be told. */
export function sizeOf(text: string | undefined): number | undefined {
  const [, digits, unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(text ?? '') ?? [];
  const factor = units[unit];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}
