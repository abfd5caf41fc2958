import { z } from 'zod';
import type {
  ImportHeartbeat,
  OvaSource,
  Placement,
  TemplateSwapFleetRequest,
  TemplateSwapRequest,
} from '../../workflows/contracts/template.ts';
import { templateSwapId } from '../../workflows/contracts/ids.ts';
import { checkNames } from '../../workflows/domain/template/names.ts';
import { isVmFolderPath } from '../../workflows/domain/template/paths.ts';

const sha256 = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
  .transform((digest) => digest.toLowerCase());
const size = z.int().positive();
const text = z
  .string()
  .min(1, 'must not be empty')
  .max(400, 'is longer than 400 characters, which no path in vCenter should be');

function isCleanUrl(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === '' && parsed.password === '';
}

/** A query may be a signature, and a request is readable in the workflow's history. */
function hasNoQuery(url: string): boolean {
  return !url.includes('?');
}

/** Shape of `Placement`. */
export const placementSchema = z
  .strictObject({
    datacenter: text,
    cluster: text,
    resourcePool: text.exactOptional(),
    datastore: text,
    folder: text.exactOptional(),
    network: text,
    host: text.exactOptional(),
  })
  .refine(({ datacenter, folder }) => isVmFolderPath(datacenter, folder), {
    path: ['folder'],
    error: "must lie in the datacenter's VM folder tree, for example /DC0/vm/templates",
  }) satisfies z.ZodType<Placement>;

/** Shape of `OvaSource`: a path on the transfer workers, or an http(s) URL without user info. */
export const ovaSourceSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('file'),
    path: z.string().startsWith('/', 'must be an absolute path'),
    sha256,
    size: size.exactOptional(),
  }),
  z.strictObject({
    kind: z.literal('http'),
    url: z
      .string()
      .refine(isCleanUrl, 'must be an http(s) URL without user:password@ (use headersRef for credentials)')
      .refine(
        hasNoQuery,
        'must have no query: put it into sources.<name>.queryFile of vmflow.yaml and name that in headersRef',
      ),
    sha256,
    size: size.exactOptional(),
    headersRef: text.exactOptional(),
  }),
]) satisfies z.ZodType<OvaSource>;

const optionsSchema = z.strictObject({
  createIfMissing: z.boolean().default(false),
  replaceUnknownVersion: z.boolean().default(false),
  strictOwnership: z.boolean().default(true),
  recovery: z.enum(['forward-if-ready', 'back-first']).default('forward-if-ready'),
  diskProvisioning: z.enum(['inherit', 'default', 'thin', 'thick', 'eagerZeroedThick']).default('inherit'),
  disableSecureBoot: z.boolean().default(true),
  annotation: z.string().max(4096).exactOptional(),
  tags: z.array(text).max(50).default([]),
  keepRollbackMinutes: z
    .number()
    .min(0)
    .max(60 * 24 * 365)
    .default(0),
  verifyManifest: z.enum(['require', 'if-present', 'off']).default('if-present'),
  strictOva: z.boolean().default(false),
  maxGapMs: z.int().positive().default(5_000),
  uploadStallMs: z.int().min(1_000).default(120_000),
  maxUploadAttempts: z.int().min(1).max(100).default(5),
  conflictTimeoutMinutes: z
    .number()
    .positive()
    .max(60 * 24 * 365)
    .default(24 * 60),
  dryRun: z.boolean().default(false),
});

/** Shape of `TemplateSwapRequest`; fills in every default. */
export const templateSwapRequestSchema = z
  .strictObject({
    requestId: z.string().min(1).max(64).exactOptional(),
    vcenter: z.string().regex(/^[a-z0-9][a-z0-9.-]{0,62}$/, 'must be the name of a vCenter in vmflow.yaml'),
    placement: placementSchema,
    template: z.strictObject({
      prodName: z.string(),
      tempPrefix: z.string().exactOptional(),
      rollbackPrefix: z.string().exactOptional(),
    }),
    source: ovaSourceSchema,
    target: z.strictObject({ version: z.string().trim().min(1).max(128) }),
    options: optionsSchema.prefault({}),
    by: z.string().max(128).exactOptional(),
  })
  .superRefine(({ template }, context) => {
    const problem = checkNames(template.prodName, template.tempPrefix, template.rollbackPrefix);
    if (problem !== undefined)
      context.addIssue({ code: 'custom', path: ['template'], message: `${problem.problem}: ${problem.message}` });
  }) satisfies z.ZodType<TemplateSwapRequest>;

/** Shape of `TemplateSwapFleetRequest`; no two entries for one template. */
export const templateSwapFleetRequestSchema = z
  .strictObject({
    requestId: z.string().min(1).max(64).exactOptional(),
    templates: z.array(templateSwapRequestSchema).min(1).max(64),
    maxParallel: z.int().min(1).max(16).default(2),
    failFast: z.boolean().default(false),
    by: z.string().max(128).exactOptional(),
  })
  .superRefine(({ templates }, context) => {
    const ids = templates.map((template) => templateSwapId(template));
    const twice = ids.find((id, i) => ids.indexOf(id) !== i);
    if (twice !== undefined)
      context.addIssue({ code: 'custom', path: ['templates'], message: `DUPLICATE_TARGET: two entries for ${twice}` });
  }) satisfies z.ZodType<TemplateSwapFleetRequest>;

/** Heartbeat details of `importToTemp` as an earlier attempt left them. */
export const importHeartbeatSchema = z.object({
  v: z.literal(1),
  phase: z.enum(['source', 'cleanup', 'spec', 'lease', 'uploading', 'completing', 'completed', 'waiting-for-lease']),
  attempt: z.int(),
  entityRef: z.string().exactOptional(),
  leaseTimeoutS: z.number().exactOptional(),
  fileIndex: z.int().exactOptional(),
  fileCount: z.int().exactOptional(),
  fileBytes: z.number().exactOptional(),
  sentBytes: z.number().exactOptional(),
  totalBytes: z.number().exactOptional(),
  startedAt: z.string(),
  rate: z.number().exactOptional(),
  stalledMs: z.number().exactOptional(),
  excludedHosts: z.array(z.string()).exactOptional(),
  waitingFor: z.literal('vcenter').exactOptional(),
  withoutUpload: z.int().exactOptional(),
}) satisfies z.ZodType<ImportHeartbeat>;
