import { VSphereError } from './faults.ts';
import { editImportSpec } from './import-spec-edit.ts';
import { sliceImportSpec } from './import-spec-slice.ts';
import type {
  CallOptions,
  ImportFileItem,
  ImportSpecEdits,
  ImportSpecParams,
  ImportSpecResult,
  MoRef,
} from './port.ts';
import type { SessionCore } from './session-core.ts';
import { protocolError } from './session-core.ts';
import { xmlText } from './vim25/encode.ts';

interface LocalizedFault {
  readonly fault?: { readonly _type?: string };
  readonly localizedMessage?: string;
}

interface OvfResult {
  readonly fileItem: readonly (ImportFileItem & { readonly [other: string]: unknown })[];
  readonly warning: readonly LocalizedFault[];
  readonly error: readonly LocalizedFault[];
}

function line({ fault, localizedMessage }: LocalizedFault): string {
  const type = fault?._type ?? 'MethodFault';
  return localizedMessage ? `${type}: ${localizedMessage}` : type;
}

/** Asks what the server would import from a descriptor. */
export async function createImportSpec(
  core: SessionCore,
  params: ImportSpecParams,
  options?: CallOptions,
): Promise<ImportSpecResult> {
  const { ovfManager } = await core.content(options);
  const { ovfDescriptor, resourcePool, datastore, host, entityName, networkMapping, diskProvisioning } = params;
  const cisp = {
    _type: 'OvfCreateImportSpecParams',
    locale: '',
    deploymentOption: '',
    entityName,
    hostSystem: host,
    networkMapping,
    diskProvisioning,
  };
  const args = { _this: ovfManager, ovfDescriptor, resourcePool, datastore, cisp };
  const { value, body } = await core.callRaw('CreateImportSpec', args, options);
  const result = value as OvfResult;
  const errors = result.error.map(line);
  const importSpecXml = sliceImportSpec(body);
  if (importSpecXml === undefined && errors.length === 0) {
    throw protocolError(core.endpoint, 'CreateImportSpec', 'the answer holds neither an import spec nor an error');
  }
  return {
    importSpecXml: importSpecXml ?? '',
    fileItems: result.fileItem.map(toFileItem),
    warnings: result.warning.map(line),
    errors,
  };
}

const toFileItem = ({ deviceId, path, size, create }: ImportFileItem): ImportFileItem => ({
  deviceId,
  path,
  create,
  ...(size === undefined ? {} : { size }),
});

function referenceXml(name: string, ref: MoRef): string {
  const escape = (text: string): string => xmlText(text, 'ImportVApp').replaceAll('"', '&quot;');
  return `<${name} type="${escape(ref.type)}">${escape(ref.value)}</${name}>`;
}

/** The body of ImportVApp around an edited spec. */
export function importVAppXml(pool: MoRef, specXml: string, folder: MoRef, host: MoRef): string {
  return (
    `<ImportVApp xmlns="urn:vim25">${referenceXml('_this', pool)}${specXml}` +
    `${referenceXml('folder', folder)}${referenceXml('host', host)}</ImportVApp>`
  );
}

/** Starts an import; the VM appears at once under its name. Never replayed by itself after a lost answer. */
export async function importVApp(
  core: SessionCore,
  target: { readonly pool: MoRef; readonly folder: MoRef; readonly host: MoRef },
  importSpecXml: string,
  edits: ImportSpecEdits,
  options?: CallOptions,
): Promise<MoRef> {
  const rawXml = importVAppXml(target.pool, editImportSpec(importSpecXml, edits), target.folder, target.host);
  const lease = await core.call('ImportVApp', { _this: target.pool }, { ...options, rawXml });
  if (lease !== undefined) return lease as MoRef;
  const message = 'ImportVApp answered without a lease.';
  throw new VSphereError(
    'PROTOCOL',
    message,
    { kind: 'transport', method: 'ImportVApp', message },
    {
      outcomeUnknown: true,
    },
  );
}
