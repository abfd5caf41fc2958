import { readFile } from 'node:fs/promises';
import type { Config } from '../config.ts';
import { OperationError } from '../failures.ts';
import { inspectSource, type SourceDeps } from '../ova/source-cache.ts';
import { SourceError, type SourceErrorCode } from '../ova/source-error.ts';
import type { FailureType } from '../../workflows/contracts/failures.ts';
import type { Sources } from './deps.ts';

export interface Log {
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

export function sourceDeps(config: Config, log: Log): SourceDeps {
  return {
    cacheDir: config.file.cacheDir,
    headersFor: (ref) => config.sourceHeaders(ref),
    queryFor: (ref) => config.sourceQuery(ref),
    caFor: async (ref) => {
      const caFile = config.file.sources[ref]?.caFile;
      return caFile === undefined ? undefined : await readFile(caFile, 'utf8');
    },
    log,
  };
}

/** OVAs by file or URL, through this worker's cache. */
export function createSources(config: Config, log: Log): Sources {
  const deps = sourceDeps(config, log);
  return {
    async open(input, { signal, onProgress }) {
      const { source, target, verifyManifest, strictOva } = input;
      const { local, inspection } = await inspectSource(source, deps, {
        verifyManifest,
        strictOva,
        targetVersion: target.version,
        signal,
        onProgress: ({ bytes, totalBytes }) => onProgress(bytes, totalBytes),
      });
      return { path: local.path, inspection };
    },
  };
}

/** What stays as it is until a person changes something. */
const permanentTypes: Partial<Readonly<Record<SourceErrorCode | number, FailureType>>> = {
  SOURCE_UNREADABLE: 'NotFound',
  401: 'Unauthenticated',
  403: 'Forbidden',
  404: 'NotFound',
};

/** What may be otherwise at the next attempt. */
const transientTypes: Partial<Readonly<Record<SourceErrorCode, FailureType>>> = { SOURCE_CACHE_FULL: 'NoSpace' };

/** What is wrong with an OVA, in the terms of the contract. */
export function toSourceOperationError(err: unknown): OperationError | undefined {
  if (!(err instanceof SourceError)) return undefined;
  const type = err.permanent
    ? (permanentTypes[err.httpStatus ?? err.code] ?? 'InvalidRequest')
    : (transientTypes[err.code] ?? 'Unavailable');
  return new OperationError(type, `${err.message}; nothing was changed in vCenter`, {
    code: err.code,
    primary: {
      kind: 'source',
      faultType: err.code,
      message: err.message,
      ...(err.httpStatus === undefined ? {} : { httpStatus: err.httpStatus }),
    },
    retryable: !err.permanent,
    cause: err,
  });
}
