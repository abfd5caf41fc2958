import type { Marker } from '../../workflows/domain/template/observation.ts';

/** Keys of our own in a VM's `extraConfig`. */
const keys = {
  prod: 'templateSwap.prod',
  opId: 'templateSwap.opId',
  version: 'templateSwap.version',
  sha256: 'templateSwap.sha256',
  state: 'templateSwap.state',
  product: 'templateSwap.product',
  vm: 'templateSwap.vm',
  replaces: 'templateSwap.replaces',
} as const;

/** A marker as it is written. */
export interface FullMarker extends Marker {
  /** What the VM itself called its version when that was something else than the target's. */
  readonly product?: string;
  /** Reference value of the VM that it was written on. Not known yet while it is imported. */
  readonly vm?: string;
}

export function markerEntries(marker: FullMarker): ReadonlyMap<string, string> {
  const { product = '', replaces = '', ...rest } = marker;
  return new Map(
    Object.entries({ ...rest, product, replaces }).map(([name, value]) => [keys[name as keyof typeof keys], value]),
  );
}

/** The marker among the `extraConfig` entries of this VM; undefined when there is none, it isn't whole, or a clone's copy. */
export function readMarker(
  extraConfig: readonly { readonly key: string; readonly value: unknown }[],
  vm: string,
): FullMarker | undefined {
  const values = new Map(extraConfig.map(({ key, value }) => [key, String(value)]));
  const prod = values.get(keys.prod);
  const state = values.get(keys.state);
  if (prod === undefined || (state !== 'importing' && state !== 'ready')) return undefined;
  const writtenOn = values.get(keys.vm) ?? '';
  if (state === 'ready' ? writtenOn !== vm : writtenOn !== '' && writtenOn !== vm) return undefined;
  const product = values.get(keys.product) ?? '';
  const replaces = values.get(keys.replaces) ?? '';
  return {
    prod,
    state,
    opId: values.get(keys.opId) ?? '',
    version: values.get(keys.version) ?? '',
    sha256: values.get(keys.sha256) ?? '',
    ...(writtenOn === '' ? {} : { vm: writtenOn }),
    ...(product === '' ? {} : { product }),
    ...(replaces === '' ? {} : { replaces }),
  };
}
