import type { TargetInfo } from '../../../workflows/contracts/batch-lookup.ts';
import type { BatchDeps } from '../../batch/deps.ts';
import { toTargetOperationError } from '../../incus/operation-error.ts';
import { tlsInWords } from '../endpoints.ts';
import { shownCertificate } from '../fingerprint.ts';
import { fingerprintIn, reach } from './connectivity.ts';

/** Every target of the configuration, and how it answers. */
export async function targetsOf({
  config,
  target,
}: Pick<BatchDeps, 'config' | 'target'>): Promise<readonly TargetInfo[]> {
  return await Promise.all(
    Object.entries(config.file.targets).map(async ([name, entry]) => {
      const { type, url, tls, importLimit, createLimit, clientCertFile, clientCertEnv } = entry;
      const [certificate, reached] = await Promise.all([
        shownCertificate(url),
        reach(
          async () => ({ version: (await (await target(name)).check()).version }),
          [toTargetOperationError],
          tls.mode === 'thumbprint',
        ),
      ]);
      const fingerprint = fingerprintIn(certificate);
      return {
        ...{ name, type, url, importLimit, createLimit },
        auth: (clientCertFile ?? clientCertEnv) === undefined ? 'none' : 'certificate',
        tls: url.startsWith('http:') ? 'plain http' : tlsInWords(tls),
        ...(fingerprint === undefined ? {} : { fingerprint }),
        ...reached,
      };
    }),
  );
}
