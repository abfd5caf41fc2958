import type { SourceInfo, SourceVm } from '../../../workflows/contracts/batch-lookup.ts';
import type { Page } from '../../../workflows/contracts/cluster-lookup.ts';
import { effectiveInstance } from '../../../workflows/domain/batch/effective.ts';
import { exclusionReason } from '../../../workflows/domain/batch/exclusion.ts';
import type { InstanceRecord, RestrictionOverrides } from '../../../workflows/domain/batch/records.ts';
import type { BatchDeps } from '../../batch/deps.ts';
import { OperationError } from '../../failures.ts';
import { asFilter, ExpressionError } from '../../placement/expression/expression.ts';
import type { TemplateDeps } from '../../template/deps.ts';
import { toVSphereOperationError } from '../../vsphere/operation-error.ts';
import { shownCertificate } from '../fingerprint.ts';
import { tlsInWords } from '../endpoints.ts';
import { pageBy } from '../page.ts';
import { fingerprintIn, reach } from './connectivity.ts';

/** Every vCenter of the configuration, and how it answers. */
export async function sourcesOf(deps: Pick<TemplateDeps, 'config' | 'vsphere'>): Promise<readonly SourceInfo[]> {
  return await Promise.all(
    Object.entries(deps.config.file.vcenters).map(async ([name, { url, user, tls, source }]) => {
      const [certificate, reached] = await Promise.all([
        shownCertificate(url),
        reach(
          async () => {
            const endpoint = await deps.config.vcenter(name);
            await deps.vsphere.withSession(endpoint, (session) => session.currentTime());
            return {};
          },
          [toVSphereOperationError],
          tls.mode === 'thumbprint',
        ),
      ]);
      const fingerprint = fingerprintIn(certificate);
      return {
        ...{ name, type: 'vmware', url, user, tls: tlsInWords(tls), importLimit: source.importLimit },
        ...(fingerprint === undefined ? {} : { fingerprint }),
        ...reached,
      };
    }),
  );
}

/** VMs of a source in the order of their location. The first page is read now, those after it are of the same reading. */
export async function sourceVms(
  { config, inventories }: Pick<BatchDeps, 'config' | 'inventories'>,
  { source, filter, after }: { readonly source: string; readonly filter?: string; readonly after?: string },
): Promise<Page<SourceVm>> {
  // An unknown one is refused in words.
  await config.vcenter(source);
  const { instances } = await inventories.of(source, after === undefined ? { maxAgeMs: 0 } : {});
  const wanted = filter === undefined ? instances : filtered(instances, filter);
  return pageBy(wanted.map(sourceVm), ({ location, uuid }) => `${location} ${uuid}`, after);
}

function filtered(instances: readonly InstanceRecord[], filter: string): readonly InstanceRecord[] {
  try {
    const expression = asFilter(filter, 'instance');
    const now = new Date();
    return instances.filter((instance) => expression.evaluate(effectiveInstance(instance), { now }));
  } catch (err) {
    if (!(err instanceof ExpressionError)) throw err;
    throw new OperationError('InvalidRequest', `the filter can't be used: ${err.message}`, {
      code: 'FILTER',
      next: 'write an expression such as "cpus <= 4", or a text to look for in the location',
      cause: err,
    });
  }
}

const nothingAllowed: RestrictionOverrides = {
  allow_unknown_os: false,
  allow_no_ipv4: false,
  allow_no_background_import: false,
};

function sourceVm(instance: InstanceRecord): SourceVm {
  const { uuid, source, source_specific_id, location, name, cpus, memory, background_import, running } = instance;
  const { os_type, distribution, distribution_version, disks, last_update_from_source } = effectiveInstance(instance);
  const exclusion = exclusionReason(instance, {}, nothingAllowed);
  // Whether tracking works is looked at when a batch has it.
  const isTold = exclusion !== undefined && exclusion.reason !== 'background-import-unverified';
  return {
    ...{ uuid, source, source_specific_id, location, name, cpus, memory, background_import, running },
    ...{ os_type, distribution, distribution_version, last_update_from_source },
    disks: disks.length,
    size: disks.reduce((sum, { capacity }) => sum + capacity, 0),
    ...(isTold ? { restriction: exclusion.text } : {}),
  };
}
