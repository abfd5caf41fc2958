import type { OvaLookupActivities } from '../../workflows/contracts/activities.ts';
import { raiseFence, whileBeating } from '../heartbeat.ts';
import type { Config } from '../config.ts';
import { OperationError } from '../failures.ts';
import { inspectOva } from '../ova/inspect.ts';
import { fetchUnknown } from '../ova/source-cache.ts';
import { sourceDeps, type Log } from '../template/sources.ts';

/** Digest and version of an OVA that nobody has described yet, as this worker sees it. */
export function createLookupOva(config: Config, log: Log): OvaLookupActivities {
  const deps = sourceDeps(config, log);
  return {
    async lookupOva({ location, headersRef }) {
      const fence = raiseFence(undefined);
      const progress = { v: 1, phase: 'reading', bytes: 0 };
      const run = { signal: fence.signal, onProgress: ({ bytes }: { bytes: number }) => (progress.bytes = bytes) };
      try {
        return await whileBeating(
          () => progress,
          async () => {
            const path = await localPath(location);
            const { sha256, size, productVersion, warnings } = await inspectOva(path, { ...run, label: location });
            return {
              what: 'ova',
              sha256,
              size,
              warnings,
              ...(productVersion === undefined ? {} : { version: productVersion }),
            };
          },
        );
      } finally {
        fence.dispose();
      }

      async function localPath(given: string): Promise<string> {
        if (/^https?:/i.test(given) && given.includes('?')) throw queryInUrl();
        if (/^https?:/i.test(given))
          return (await fetchUnknown({ url: given, ...(headersRef === undefined ? {} : { headersRef }) }, deps, run))
            .path;
        if (given.startsWith('/')) return given;
        throw new OperationError(
          'InvalidRequest',
          `"${given}" is neither an absolute path on the transfer workers nor an http(s) URL`,
          { code: 'SOURCE_URL' },
        );
      }
    },
  };
}

/** A query may be a signature, and what is asked is readable in the workflow's history. */
function queryInUrl(): OperationError {
  return new OperationError('InvalidRequest', 'a URL with a query is not taken: it may be a secret', {
    code: 'SOURCE_URL',
    next: 'put the query into sources.<name>.queryFile of vmflow.yaml on the workers and name that in headersRef',
  });
}
