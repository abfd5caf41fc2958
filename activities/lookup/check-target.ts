import type { Check } from '../../workflows/contracts/lookup.ts';
import { toOperationError } from '../failures.ts';
import { toTargetOperationError } from '../incus/operation-error.ts';
import type { BatchDeps } from '../batch/deps.ts';
import { shownCertificate } from './fingerprint.ts';

/** What a target must know of, beyond what every Incus has, for disks to be copied to it. */
const neededExtension = 'storage_volume_nbd';

/** Reachable, trusted, and able to take disks. @param key name of the target in `vmflow.yaml` */
export async function checkTarget(
  { config, target }: Pick<BatchDeps, 'config' | 'target'>,
  key: string,
): Promise<Check[]> {
  const url = config.file.targets[key]?.url ?? '';
  const certificate = await shownCertificate(url);
  try {
    const { version, extensions } = await (await target(key)).check();
    const takesDisks = extensions.includes(neededExtension);
    return [
      certificate,
      { name: 'log in', ok: true, detail: `version ${version}, our client certificate is trusted` },
      {
        name: 'disks',
        ok: takesDisks,
        detail: takesDisks ? 'disks can be written over NBD' : `it has no ${neededExtension}`,
        ...(takesDisks ? {} : { failure: 'wrong' as const, remedy: 'update the Incus server' }),
      },
    ];
  } catch (err) {
    const known = toOperationError(err, [toTargetOperationError]);
    const isAccess = known.type === 'Unauthenticated' || known.type === 'Forbidden';
    const failure = isAccess ? 'forbidden' : known.type === 'InvalidRequest' ? 'wrong' : 'unreachable';
    const remedy = known.details.next ?? `check targets.${key} in vmflow.yaml`;
    return [certificate, { name: 'log in', ok: false, detail: known.message, failure, remedy }];
  }
}
