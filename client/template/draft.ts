import { resolve } from 'node:path';
import type { Placement, SwapOptions } from '../../workflows/contracts/template.ts';
import { parseDuration } from '../durations.ts';
import { defined } from '../objects.ts';
import type { Session } from '../session.ts';

/** Flags of `template update`; every one overrides the file, the file overrides what is remembered. */
export interface UpdateFlags {
  readonly ova?: string;
  readonly sha256?: string;
  readonly version?: string;
  readonly headersRef?: string;
  readonly vcenter?: string;
  readonly datacenter?: string;
  readonly cluster?: string;
  readonly datastore?: string;
  readonly network?: string;
  readonly folder?: string;
  readonly pool?: string;
  readonly host?: string;
  readonly tempPrefix?: string;
  readonly rollbackPrefix?: string;
  readonly create?: boolean;
  readonly replaceUnknown?: boolean;
  /** False with `--no-strict-ownership`. */
  readonly strictOwnership?: boolean;
  readonly recovery?: string;
  readonly keep?: string;
  readonly tag?: readonly string[];
  readonly annotation?: string;
  readonly provisioning?: string;
  readonly keepSecureBoot?: boolean;
  readonly strictOva?: boolean;
  readonly verifyManifest?: string;
  readonly maxGap?: string;
  readonly uploadStall?: string;
  readonly maxUploadAttempts?: string;
  readonly conflictTimeout?: string;
  readonly requestId?: string;
  readonly file?: string;
  readonly dryRun?: boolean;
}

/** A request that isn't complete yet. Checked by the schema at the end, so the parts are plain. */
export interface Draft {
  readonly requestId?: string | undefined;
  readonly vcenter?: string | undefined;
  readonly placement?: Partial<Placement>;
  readonly template?: { readonly prodName?: string; readonly tempPrefix?: string; readonly rollbackPrefix?: string };
  readonly source?: DraftSource | undefined;
  readonly target?: { readonly version?: string };
  readonly options?: SwapOptions;
}

interface DraftSource {
  readonly kind?: 'file' | 'http';
  readonly path?: string;
  readonly url?: string;
  readonly sha256?: string;
  readonly size?: number;
  readonly headersRef?: string;
}

/** The flags as a draft. */
export function draftOf(session: Session, name: string, flags: UpdateFlags): Draft {
  return {
    requestId: flags.requestId,
    vcenter: flags.vcenter,
    placement: defined({
      datacenter: flags.datacenter,
      cluster: flags.cluster,
      resourcePool: flags.pool,
      datastore: flags.datastore,
      folder: flags.folder,
      network: flags.network,
      host: flags.host,
    }),
    template: { prodName: name, ...defined({ tempPrefix: flags.tempPrefix, rollbackPrefix: flags.rollbackPrefix }) },
    source: sourceOf(session, flags),
    target: defined({ version: flags.version }),
    options: optionsOf(flags),
  };
}

/** The path is the worker's; a relative one is taken from here, so that it means the same file on the same machine. */
function sourceOf(session: Session, flags: UpdateFlags): Draft['source'] {
  const digest = defined({ sha256: flags.sha256?.toLowerCase() });
  if (flags.ova === undefined) return Object.keys(digest).length === 0 ? undefined : digest;
  if (/^https?:\/\//i.test(flags.ova)) {
    return { kind: 'http', url: flags.ova, ...defined({ headersRef: flags.headersRef }), ...digest };
  }
  const path = flags.ova.startsWith('file://') ? decodeURIComponent(new URL(flags.ova).pathname) : flags.ova;
  return { kind: 'file', path: resolve(session.runtime.cwd, path), ...digest };
}

function optionsOf(flags: UpdateFlags): SwapOptions {
  const minutes = (text: string | undefined, flag: string): number | undefined =>
    text === undefined ? undefined : parseDuration(text, flag) / 60_000;
  const ms = (text: string | undefined, flag: string): number | undefined =>
    text === undefined ? undefined : parseDuration(text, flag);
  return defined({
    createIfMissing: flags.create,
    replaceUnknownVersion: flags.replaceUnknown,
    strictOwnership: flags.strictOwnership === false ? false : undefined,
    recovery: flags.recovery as SwapOptions['recovery'],
    diskProvisioning: flags.provisioning as SwapOptions['diskProvisioning'],
    disableSecureBoot: flags.keepSecureBoot === true ? false : undefined,
    annotation: flags.annotation,
    tags: flags.tag,
    keepRollbackMinutes: minutes(flags.keep, '--keep'),
    verifyManifest: flags.verifyManifest as SwapOptions['verifyManifest'],
    strictOva: flags.strictOva,
    maxGapMs: ms(flags.maxGap, '--max-gap'),
    uploadStallMs: ms(flags.uploadStall, '--upload-stall'),
    maxUploadAttempts: flags.maxUploadAttempts === undefined ? undefined : Number(flags.maxUploadAttempts),
    conflictTimeoutMinutes: minutes(flags.conflictTimeout, '--conflict-timeout'),
    dryRun: flags.dryRun,
  });
}

/** One draft over another, part by part. */
export function merge(base: Draft, over: Draft): Draft {
  const source = over.source?.path ?? over.source?.url;
  return {
    ...defined(base),
    ...defined(over),
    placement: { ...base.placement, ...over.placement },
    template: { ...base.template, ...over.template },
    // Another location is another file: nothing of the first one's digest may stay.
    source: source === undefined ? { ...base.source, ...over.source } : over.source,
    target: { ...base.target, ...over.target },
    options: { ...base.options, ...over.options },
  };
}
