import { z } from 'zod';
import { serverUrl, tlsPolicy } from './tls.ts';

/** 0 = unlimited. */
const limit = z.int().min(0);
const span = z.int().min(1);

/** A vCenter as the source of batch migrations. Spans are milliseconds. */
export const migrationSource = z
  .strictObject({
    /** Disks that are copied from it at once, all batches together. */
    importLimit: limit.default(0),
    /** Of these on one host: it serves few copies at a time. */
    hostImportLimit: limit.default(8),
    /** Budget of one VM while the inventory is read. */
    syncTimeoutMs: span.default(10_000),
    /** VMs that are read at once. */
    syncLimit: z.int().min(1).max(64).default(1),
    /** Only what is below these; empty: everything. */
    datacenters: z.array(z.string().min(1)).default([]),
  })
  .prefault({});

const certificate = {
  clientCertFile: z.string().min(1).exactOptional(),
  clientCertEnv: z.string().min(1).exactOptional(),
  clientKeyFile: z.string().min(1).exactOptional(),
  clientKeyEnv: z.string().min(1).exactOptional(),
};

/** An Incus server that VMs are migrated to. It knows us by our client certificate (PEM). */
export const migrationTarget = z
  .strictObject({
    type: z.literal('incus').default('incus'),
    url: serverUrl.refine((url) => /^[a-z]+:\/\/[^/?#]+\/?$/i.test(url), 'is https://host[:port] without a path'),
    tls: tlsPolicy.default({ mode: 'ca' }),
    ...certificate,
    /** Disks that are copied to it at once, all batches together. */
    importLimit: limit.default(0),
    /** Instances that are created at once. */
    createLimit: limit.default(0),
    connectionTimeoutMs: span.default(300_000),
    allowPlainHttp: z.boolean().default(false),
    /** `marker`, for tests only: the step that adapts a guest writes one block instead. */
    adapt: z.enum(['none', 'marker']).default('none'),
  })
  .refine(({ url, ...entry }) => url.startsWith('http:') || hasPair(entry), {
    error: 'needs clientCertFile or clientCertEnv, and clientKeyFile or clientKeyEnv',
  })
  .refine((entry) => !isTwice(entry.clientCertFile, entry.clientCertEnv), {
    error: 'takes clientCertFile or clientCertEnv, not both',
  })
  .refine((entry) => !isTwice(entry.clientKeyFile, entry.clientKeyEnv), {
    error: 'takes clientKeyFile or clientKeyEnv, not both',
  });

type Certificate = { readonly [K in keyof typeof certificate]?: string };

function hasPair({ clientCertFile, clientCertEnv, clientKeyFile, clientKeyEnv }: Certificate): boolean {
  return (clientCertFile ?? clientCertEnv) !== undefined && (clientKeyFile ?? clientKeyEnv) !== undefined;
}

function isTwice(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined;
}

const dayMs = 24 * 3_600_000;

/** How batches are worked on. Spans are milliseconds. */
export const batches = z
  .strictObject({
    /** How often an entry that can't go on is looked at again. */
    tickMs: span.default(30_000),
    /** A guest that is asked to shut down gets this time, then it is switched off. */
    shutdownGraceMs: z.int().min(0).default(300_000),
    /** Between two attempts to configure and start a target instance. */
    finalizePauseMs: span.default(10_000),
    /** What has finished is remembered this long. */
    archiveAfterMs: span.default(7 * dayMs),
    /** Disks that one worker copies at once. */
    diskCopies: z.int().min(1).max(64).default(4),
    /** How often the sources are read. */
    syncIntervalMs: z.int().min(1_001, 'must be longer than 1000').default(600_000),
    disableAutoSync: z.boolean().default(false),
  })
  .prefault({});
