/** The address as a number of 32 bits; undefined where it is none. Leading zeros are refused: some read them as octal. */
export function parseIpv4(text: string): number | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return undefined;
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}

export interface Subnet {
  readonly address: number;
  readonly prefix: number;
}

/** A subnet such as `10.1.0.1/24`, the address of the router in it; undefined: it is none (`none`, `auto`, empty). */
export function parseSubnet(text: string): Subnet | undefined {
  const [, host = '', length = ''] = /^([\d.]+)\/(\d{1,2})$/.exec(text) ?? [];
  const address = parseIpv4(host);
  const prefix = Number(length);
  return address === undefined || prefix > 32 ? undefined : { address, prefix };
}

export function isInSubnet(address: number, subnet: Subnet): boolean {
  const size = 2 ** (32 - subnet.prefix);
  return Math.floor(address / size) === Math.floor(subnet.address / size);
}
