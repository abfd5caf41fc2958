import type { LookupAnswer, LookupRequest, TemplateInfo } from '../../workflows/contracts/lookup.ts';
import { folderPath } from '../../workflows/contracts/ids.ts';
import { fromWireName, swapNames, toWireName } from '../../workflows/domain/template/names.ts';
import { canonicalFolder } from '../../workflows/domain/template/paths.ts';
import { OperationError } from '../failures.ts';
import type { TemplateDeps } from '../template/deps.ts';
import { onVCenter } from '../vsphere/on-vcenter.ts';
import { asRef, list, readVm, vmPaths } from '../template/read-vm.ts';
import type { MoRef, VSphereSession } from '../vsphere/port.ts';

/** An answer stays far below the payload limit. */
const mostTemplates = 300;

type Deps = Pick<TemplateDeps, 'config' | 'vsphere'>;

export async function findTemplate(
  deps: Deps,
  request: Extract<LookupRequest, { what: 'template' }>,
): Promise<LookupAnswer> {
  return await onVCenter(deps, request.vcenter, 'look for templates', async (session) => {
    const folder = await folderOf(session, canonicalFolder(request.placement.datacenter, request.placement.folder));
    const ref = await session.findChild(folder, toWireName(request.name));
    const kept = await session.findChild(folder, swapNames(request.name, undefined, request.rollbackPrefix).rollback);
    const [found, previous] = await describe(session, [ref, kept], folderPath(request.placement));
    if (found === undefined) return { what: 'template' };
    return {
      what: 'template',
      template: { ...found, ...(previous?.version === undefined ? {} : { previous: previous.version }) },
    };
  });
}

export async function listTemplates(
  deps: Deps,
  request: Extract<LookupRequest, { what: 'templates' }>,
): Promise<LookupAnswer> {
  return await onVCenter(deps, request.vcenter, 'look for templates', async (session) => {
    const path = canonicalFolder(request.datacenter, request.folder);
    const [content] = await session.retrieve([await folderOf(session, path)], ['childEntity']);
    const vms = list(content?.props.get('childEntity'))
      .map(asRef)
      .filter((ref) => ref?.type === 'VirtualMachine');
    const seen = await describe(
      session,
      vms.slice(0, 4 * mostTemplates),
      folderPath({
        datacenter: request.datacenter,
        ...(request.folder === undefined ? {} : { folder: request.folder }),
      }),
    );
    const templates = seen
      .filter((template) => template?.isTemplate === true)
      .filter((template) => template !== undefined);
    return {
      what: 'templates',
      templates: templates.slice(0, mostTemplates),
      truncated: templates.length > mostTemplates || vms.length > 4 * mostTemplates,
    };
  });
}

async function folderOf(session: VSphereSession, path: string): Promise<MoRef> {
  const folder = await session.findByInventoryPath(path);
  if (folder !== undefined) return folder;
  throw new OperationError('NotFound', `there is no folder "${path}" in ${session.about.fullName}`, {
    code: 'FOLDER_NOT_FOUND',
  });
}

async function describe(
  session: VSphereSession,
  refs: readonly (MoRef | undefined)[],
  folder: string,
): Promise<(TemplateInfo | undefined)[]> {
  const present = refs.filter((ref) => ref?.type === 'VirtualMachine').filter((ref) => ref !== undefined);
  const contents = present.length === 0 ? [] : await session.retrieve(present, vmPaths);
  const byRef = new Map(contents.map((content) => [content.ref.value, readVm(content, undefined).vm]));
  return refs.map((ref) => {
    const vm = ref === undefined ? undefined : byRef.get(ref.value);
    if (vm === undefined) return undefined;
    return {
      name: fromWireName(vm.name),
      folder,
      moRef: vm.ref.value,
      isTemplate: vm.isTemplate,
      ...(vm.version === undefined ? {} : { version: vm.version }),
    };
  });
}
