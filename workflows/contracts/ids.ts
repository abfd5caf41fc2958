import { defaultTaskQueue } from './task-queues.ts';
import { sha256Hex } from '../domain/sha256.ts';
import { byteLength } from '../domain/text.ts';
import { canonicalFolder, pathSegments } from '../domain/template/paths.ts';
import { toWireName } from '../domain/template/names.ts';
import type { Placement, TemplateSwapFleetRequest, TemplateSwapRequest } from './template.ts';

/** Ids longer than this many bytes get a hash in place of their folder part: SQL visibility columns end at 255. */
const longestId = 200;

/** Makes a name from outside safe as one segment of an id: `/` in it can't forge another id. */
export function idSegment(name: string): string {
  return toWireName(name);
}

/**
 * `template-swap/<vcenter>/<dc>/<folder below it>/<prod name>`: the lock of one template. Equal for all spellings of the
 * same folder (`/DC0/vm`, `DC0/vm/`, absent).
 */
export function templateSwapId(request: {
  readonly vcenter: string;
  readonly placement: Pick<Placement, 'datacenter' | 'folder'>;
  readonly template: { readonly prodName: string };
}): string {
  const folder = canonicalFolder(request.placement.datacenter, request.placement.folder).slice(1);
  const id = `template-swap/${idSegment(request.vcenter)}/${folder}/${idSegment(request.template.prodName)}`;
  if (byteLength(id) <= longestId) return id;
  const short = `template-swap/${idSegment(request.vcenter)}/~${sha256Hex(folder).slice(0, 16)}/${idSegment(request.template.prodName)}`;
  return byteLength(short) <= longestId ? short : `template-swap/${idSegment(request.vcenter)}/~${sha256Hex(id)}`;
}

/** `template-swap-fleet/<request id>`, else a hash over the sorted targets: the same fleet twice is the same workflow. */
export function templateSwapFleetId(request: TemplateSwapFleetRequest): string {
  if (request.requestId !== undefined) return `template-swap-fleet/${idSegment(request.requestId)}`;
  const targets = request.templates.map((t) => `${templateSwapId(t)} ${targetKey(t)}`).sort();
  return `template-swap-fleet/${sha256Hex(targets.join('\n')).slice(0, 32)}`;
}

/** What is wanted, as one word: version and digest. Two requests with the same key want the same. */
export function targetKey(request: Pick<TemplateSwapRequest, 'target' | 'source'>): string {
  return `${request.target.version}@${request.source.sha256.toLowerCase()}`;
}

/** `vm/<namespace>/<vm>`: the coordinator of one VM; the lock on what happens to it. */
export function vmCoordinatorId(namespace: string, vmName: string): string {
  return `vm/${idSegment(namespace)}/${idSegment(vmName)}`;
}

/** `vmop/<namespace>/<uid>`: one VirtualMachineOperation object. */
export function vmOperationId(namespace: string, uid: string): string {
  return `vmop/${idSegment(namespace)}/${idSegment(uid)}`;
}

/** `lookup/<random>`: read-only questions to a far side. */
export function lookupId(random: string): string {
  return `lookup/${random}`;
}

/** The folder path that people see, `/DC0/vm/templates`, in logical form. */
export function folderPath(placement: Pick<Placement, 'datacenter' | 'folder'>): string {
  return `/${pathSegments(canonicalFolder(placement.datacenter, placement.folder)).join('/')}`;
}

/** `cocoonset/<namespace>/<name>`: who decides for one CocoonSet. */
export function cocoonSetId(namespace: string, name: string): string {
  return `cocoonset/${idSegment(namespace)}/${idSegment(name)}`;
}

/** `migrate/<namespace>/<name>`: the one migration that a set can have at a time, whatever its target. */
export function migrateMainId(namespace: string, name: string): string {
  return `migrate/${idSegment(namespace)}/${idSegment(name)}`;
}

/** `migrate-request/<namespace>/<name>/<request id>`: what somebody asked of a set. */
export function migrationRequestId(namespace: string, name: string, requestId: string): string {
  return `migrate-request/${idSegment(namespace)}/${idSegment(name)}/${idSegment(requestId)}`;
}

/** `hibernation/<namespace>/<name>`: one CocoonHibernation. */
export function hibernationId(namespace: string, name: string): string {
  return `hibernation/${idSegment(namespace)}/${idSegment(name)}`;
}

/** `hibernation-request/<namespace>/<pod>/<desire>`: what somebody asked of the VM of one Pod. `Hibernate` or `Wake`. */
export function hibernationRequestId(namespace: string, pod: string, desire: string): string {
  return `hibernation-request/${idSegment(namespace)}/${idSegment(pod)}/${idSegment(desire)}`;
}

/**
 * `slots/migration/gate`: the one gate of all migrations of a cluster. Workers of another queue than the default have their own,
 * `slots/migration/gate/<queue>`: one that nobody's workers serve any more must not hold up the others.
 */
export function migrationGateId(taskQueue: string): string {
  return taskQueue === defaultTaskQueue ? 'slots/migration/gate' : `slots/migration/gate/${idSegment(taskQueue)}`;
}

/** `drain/<node>`: the one drain that a node can have at a time. */
export function drainId(node: string): string {
  return `drain/${idSegment(node)}`;
}

/** `batch/<name>`: the record of one batch. */
export function batchId(name: string): string {
  return `batch/${idSegment(name)}`;
}

/** `batch/<name>/shard/<k>`: up to 500 of its members. */
export function shardId(batch: string, shard: number): string {
  return `${batchId(batch)}/shard/${shard}`;
}

/** `batch/<name>/reset`: ends all entries of a batch. */
export function batchResetId(batch: string): string {
  return `${batchId(batch)}/reset`;
}

/** `migration/<instance uuid>`: the one entry that a VM can have at a time, over all batches. */
export function migrationId(uuid: string): string {
  return `migration/${idSegment(uuid)}`;
}

/** `migration/<instance uuid>/pass/<n>`: one copy of its disks. */
export function copyPassId(uuid: string, pass: number): string {
  return `${migrationId(uuid)}/pass/${pass}`;
}

/** `slots/batch/all`: who may create and import; workers of another queue than the default have their own. */
export function batchSlotsId(taskQueue: string): string {
  return taskQueue === defaultTaskQueue ? 'slots/batch/all' : `slots/batch/all/${idSegment(taskQueue)}`;
}

/** `source/<name>`: syncs of one source, one at a time. */
export function sourceId(name: string): string {
  return `source/${idSegment(name)}`;
}

/** `orphan/<target>/<project>/<name>`: what is done about an instance that no entry stands behind. */
export function orphanId(target: string, project: string, name: string): string {
  return `orphan/${idSegment(target)}/${idSegment(project)}/${idSegment(name)}`;
}
