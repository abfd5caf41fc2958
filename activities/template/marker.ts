import type { Marker } from '../../workflows/domain/template/observation.ts';

/** Keys of our own in a VM's `extraConfig`. */
const keys = {
  prod: 'templateSwap.prod',
  opId: 'templateSwap.opId',
  version: 'templateSwap.version',
  sha256: 'templateSwap.sha256',
  state: 'templateSwap.state',
  product: 'templateSwap.product',
} as const;

/** A marker, and what the VM itself called its version when that was something else than the target's. */
export interface FullMarker extends Marker {
  readonly product?: string;
}

export function markerEntries(marker: FullMarker): ReadonlyMap<string, string> {
  const { product = '', ...rest } = marker;
  return new Map(Object.entries({ ...rest, product }).map(([name, value]) => [keys[name as keyof typeof keys], value]));
}

/** The marker among `extraConfig` entries; undefined when there is none or it isn't whole. */
export function readMarker(
  extraConfig: readonly { readonly key: string; readonly value: unknown }[],
): FullMarker | undefined {
  const values = new Map(extraConfig.map(({ key, value }) => [key, String(value)]));
  const prod = values.get(keys.prod);
  const state = values.get(keys.state);
  if (prod === undefined || (state !== 'importing' && state !== 'ready')) return undefined;
  const product = values.get(keys.product) ?? '';
  return {
    prod,
    state,
    opId: values.get(keys.opId) ?? '',
    version: values.get(keys.version) ?? '',
    sha256: values.get(keys.sha256) ?? '',
    ...(product === '' ? {} : { product }),
  };
}
