import type { TemplateSwapRequest } from '../../workflows/contracts/template.ts';
import { readDocument } from '../documents.ts';
import { usageError } from '../errors.ts';
import { defined } from '../objects.ts';
import type { Session } from '../session.ts';
import { draftOf, merge, type Draft, type UpdateFlags } from './draft.ts';
import { ambiguous, knownTemplates, matching } from './find.ts';
import { quote } from './render.ts';

/** Builds the request from flags, file, what is remembered of the last update, and what the workers say about the OVA. */
export async function buildRequest(
  session: Session,
  nameArgument: string | undefined,
  flags: UpdateFlags,
): Promise<TemplateSwapRequest> {
  const file = flags.file === undefined ? {} : ((await readDocument(session, flags.file)) as Draft);
  const name = nameArgument ?? file.template?.prodName;
  if (name === undefined) throw usageError('which template? give its name', exampleOf('NAME', {}));
  if (file.template?.prodName !== undefined && file.template.prodName !== name) {
    throw usageError(`the file is for template "${file.template.prodName}", the command for "${name}"`);
  }
  const asked = merge(file, draftOf(session, name, flags));
  const placed = isPlaced(asked) ? asked : merge(await remembered(session, name, asked), asked);
  refuseIncomplete(name, placed);
  const complete = await completeSource(session, name, placed);
  return checked(session, complete);
}

const requiredFlags = [
  ['--vcenter', (draft: Draft) => draft.vcenter],
  ['--datacenter', (draft: Draft) => draft.placement?.datacenter],
  ['--cluster', (draft: Draft) => draft.placement?.cluster],
  ['--datastore', (draft: Draft) => draft.placement?.datastore],
  ['--network', (draft: Draft) => draft.placement?.network],
] as const;

function isPlaced(draft: Draft): boolean {
  return requiredFlags.every(([, value]) => value(draft) !== undefined);
}

function refuseIncomplete(name: string, draft: Draft): void {
  const missing: string[] = requiredFlags.filter(([, value]) => value(draft) === undefined).map(([flag]) => flag);
  if (!hasSource(draft)) {
    if (missing.length === 0)
      throw usageError(
        `can't update template ${name}: --ova is missing, the new OVA`,
        `vmflow template update ${quote(name)} --ova FILE|URL`,
        'FLAGS_MISSING',
      );
    missing.push('--ova');
  }
  if (missing.length === 0) return;
  throw usageError(
    `can't update template ${name}: ${missing.join(', ')} missing, and no earlier update of "${name}" to take it from`,
    exampleOf(name, draft),
    'FLAGS_MISSING',
  );
}

function hasSource({ source }: Draft): boolean {
  return source?.path !== undefined || source?.url !== undefined;
}

/** A full command with what is known filled in. */
function exampleOf(name: string, draft: Draft): string {
  const ova = draft.source?.path ?? draft.source?.url ?? '/images/rhel-9.6.ova';
  const {
    datacenter = 'DC0',
    cluster = 'DC0_C0',
    datastore = 'LocalDS_0',
    network = 'VM Network',
  } = draft.placement ?? {};
  return (
    `vmflow template update ${name} --ova ${ova} --vcenter ${draft.vcenter ?? 'vc1'} --datacenter ${datacenter} ` +
    `--cluster ${cluster} --datastore ${datastore} --network '${network}'`
  );
}

/** vCenter, placement and name prefixes of the newest update of this template. */
async function remembered(session: Session, name: string, asked: Draft): Promise<Draft> {
  const { vcenter, placement: { datacenter, folder } = {} } = asked;
  const found = matching(await knownTemplates(await session.gateway()), name, defined({ vcenter, datacenter, folder }));
  if (found.length > 1) throw ambiguous(name, found);
  const [last] = found;
  if (last === undefined) return {};
  const { memo } = last;
  // Without an OVA an error follows, which should stand alone.
  if (hasSource(asked)) session.note(`placement as in the last update of ${memo.folder}/${name} on ${memo.vcenter}`);
  return { vcenter: memo.vcenter, placement: memo.placement, template: memo.naming };
}

/** Digest and version come from the workers when they weren't given: they see the file that will be used. */
async function completeSource(session: Session, name: string, draft: Draft): Promise<Draft> {
  const { source = {}, target } = draft;
  if (source.sha256 !== undefined && target?.version !== undefined) return draft;
  const location = source.url ?? source.path ?? '';
  session.note(
    `asking a worker to read ${withoutQuery(location)} for its ${source.sha256 === undefined ? 'digest' : 'version'} ...`,
  );
  const gateway = await session.gateway();
  const { answer } = await gateway.lookup({ what: 'ova', location, ...defined({ headersRef: source.headersRef }) });
  const version = target?.version ?? answer.version;
  if (version === undefined) {
    throw usageError(
      `the OVA says nothing about its version (${withoutQuery(location)})`,
      `${exampleOf(name, draft)} --version 9.6`,
      'VERSION_MISSING',
    );
  }
  if (source.sha256 !== undefined && source.sha256.toLowerCase() !== answer.sha256) {
    throw usageError(
      `--sha256 doesn't match: the worker reads ${answer.sha256} from ${withoutQuery(location)}`,
      'check which file is meant, and whether it is complete',
      'DIGEST_MISMATCH',
    );
  }
  for (const warning of answer.warnings) session.note(`warning: ${warning}`);
  session.note(`version ${version}, sha256 ${answer.sha256}`);
  return { ...draft, source: { ...source, sha256: answer.sha256, size: answer.size }, target: { version } };
}

/** The same schema as the workflow's first step, so that a mistake is told before anything is started. */
async function checked(session: Session, draft: Draft): Promise<TemplateSwapRequest> {
  const { templateSwapRequestSchema } = await import('../../activities/schemas/template.ts');
  const request = defined({ ...draft, by: session.runtime.user() });
  const parsed = templateSwapRequestSchema.safeParse(request);
  if (!parsed.success) throw invalidRequest(parsed.error.issues);
  return request as unknown as TemplateSwapRequest;
}

/** One line per problem, with its path in the request. */
export function invalidRequest(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): Error {
  const lines = issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
  return usageError(`the request isn't valid: ${lines.join('; ')}`, undefined, 'InvalidRequest');
}

/** URLs lose their query: it may hold a signature. */
export function withoutQuery(location: string): string {
  return /^https?:/i.test(location) ? location.replace(/[?#].*$/, '') : location;
}
