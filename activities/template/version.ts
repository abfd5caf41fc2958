import type { FullMarker } from './marker.ts';

export interface VersionFacts {
  readonly marker?: FullMarker | undefined;
  /** `summary.config.product.version`; the simulator never fills it. */
  readonly productVersion?: string | undefined;
  /** `config.vAppConfig.product[].version`. */
  readonly vAppVersions: readonly string[];
}

export interface VersionVerdict {
  /** Absent: unknown. */
  readonly version?: string;
  readonly warning?: string;
}

/** Which version a VM is: our marker, else its product, else its one vApp product. Sources that disagree make it unknown. */
export function versionOf({ marker, productVersion, vAppVersions }: VersionFacts): VersionVerdict {
  const product = productVersion === '' ? undefined : productVersion;
  if (marker?.state === 'ready' && marker.version !== '') {
    const expected = marker.product ?? marker.version;
    if (product === undefined || product === expected) return { version: marker.version };
    return { warning: `VERSION_AMBIGUOUS: the marker says ${marker.version}, the product section ${product}` };
  }
  if (product !== undefined) return { version: product };
  const distinct = [...new Set(vAppVersions.filter((version) => version !== ''))];
  return distinct[0] !== undefined && distinct.length === 1 ? { version: distinct[0] } : {};
}
