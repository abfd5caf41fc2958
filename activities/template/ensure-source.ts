import type { SourceFacts, TemplateTransferActivities } from '../../workflows/contracts/activities.ts';
import { raiseFence, whileBeating } from '../heartbeat.ts';
import type { LocalSource, TemplateDeps } from './deps.ts';

/** Gets the OVA onto this worker, verified and understood, before anything is changed for it. */
export function createEnsureSource(
  deps: Pick<TemplateDeps, 'sources' | 'liveness'>,
): TemplateTransferActivities['ensureSource'] {
  return async (input) => {
    const fence = raiseFence(deps.liveness);
    const progress = { v: 1, phase: 'source', bytes: 0, total: input.source.size };
    try {
      const local = await whileBeating(
        () => progress,
        () =>
          deps.sources.open(input, {
            signal: fence.signal,
            onProgress: (done, total) => {
              progress.bytes = done;
              progress.total = total ?? progress.total;
            },
          }),
      );
      return factsOf(local);
    } finally {
      fence.dispose();
    }
  };
}

function factsOf({ inspection }: LocalSource): SourceFacts {
  const sum = (of: (disk: (typeof inspection.disks)[number]) => number): number =>
    inspection.disks.reduce((total, disk) => total + of(disk), 0);
  return {
    sha256: inspection.sha256,
    size: inspection.size,
    networkName: inspection.networks[0] ?? '',
    disks: inspection.disks.length,
    populatedBytes: sum((disk) => disk.populatedBytes ?? 0),
    capacityBytes: sum((disk) => disk.capacityBytes),
    secureBoot: inspection.secureBoot,
    warnings: inspection.warnings,
    ...(inspection.productVersion === undefined ? {} : { productVersion: inspection.productVersion }),
  };
}
