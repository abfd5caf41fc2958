import type { Config } from '../config.ts';
import type { Liveness } from '../heartbeat.ts';
import type { OvaInspection } from '../ova/inspect.ts';
import type { SourceInput } from '../../workflows/contracts/activities.ts';
import type { VSphere } from '../vsphere/port.ts';

/** An OVA on this worker's disk, verified and understood. */
export interface LocalSource {
  readonly path: string;
  readonly inspection: OvaInspection;
}

/** Gets OVAs onto this worker. */
export interface Sources {
  /** Fetches if needed, verifies the digest, inspects. Cheap when it has been done before. */
  open(
    input: SourceInput,
    options: { signal: AbortSignal; onProgress: (done: number, total: number | undefined) => void },
  ): Promise<LocalSource>;
}

/** What the template activities work with. */
export interface TemplateDeps {
  readonly config: Config;
  readonly vsphere: VSphere;
  readonly sources: Sources;
  /** Absent: this process can't tell whether it still reaches Temporal. */
  readonly liveness?: Liveness;
}
