import { faultOf } from './fault-decode.ts';
import { VimFault } from './faults.ts';
import type { MoRef, ObjectContent, PropertyValue } from './port.ts';
import type { CoreCallOptions, SessionCore } from './session-core.ts';
import { describeRef, isFault } from './session-core.ts';

/** `RetrieveResult` as decoded. */
interface Page {
  readonly token?: string;
  readonly objects: readonly {
    readonly obj: MoRef;
    readonly propSet: readonly { readonly name: string; readonly val: PropertyValue }[];
    readonly missingSet: readonly { readonly path: string; readonly fault: unknown }[];
  }[];
}

const method = 'RetrievePropertiesEx';

/** One filter for all references: a property set per type, the objects themselves without traversal. */
export function filterSpec(refs: readonly MoRef[], paths: readonly string[]): Readonly<Record<string, unknown>> {
  return {
    propSet: [...new Set(refs.map((ref) => ref.type))].map((type) => ({ type, all: false, pathSet: paths })),
    objectSet: refs.map((obj) => ({ obj, skip: false })),
  };
}

/**
 * Reads properties. On a dead session the server may answer without properties and with NotAuthenticated in the missing
 * set: that is never "no properties".
 */
export async function retrieve(
  core: SessionCore,
  refs: readonly MoRef[],
  paths: readonly string[],
  options: CoreCallOptions = {},
): Promise<readonly ObjectContent[]> {
  if (refs.length === 0) return [];
  if (options.onDeadSession === 'fail') return await readAll(core, refs, paths, options);
  const generation = await core.logIn(options);
  try {
    return await readAll(core, refs, paths, options);
  } catch (error) {
    if (!isFault(error, 'NotAuthenticated')) throw error;
    await core.renew(generation, options);
    return await readAll(core, refs, paths, options);
  }
}

async function readAll(
  core: SessionCore,
  refs: readonly MoRef[],
  paths: readonly string[],
  options: CoreCallOptions,
): Promise<readonly ObjectContent[]> {
  const { propertyCollector } = await core.content(options);
  const args = { _this: propertyCollector, specSet: [filterSpec(refs, paths)], options: {} };
  let page = (await core.call(method, args, options)) as Page | undefined;
  const found: ObjectContent[] = [];
  while (page !== undefined) {
    found.push(...page.objects.map(toContent));
    if (page.token === undefined || page.token === '') break;
    // The token belongs to the session that read the first page.
    const next = { _this: propertyCollector, token: page.token };
    page = (await core.call('ContinueRetrievePropertiesEx', next, { ...options, onDeadSession: 'fail' })) as Page;
  }
  return found;
}

function toContent(object: Page['objects'][number]): ObjectContent {
  for (const missing of object.missingSet) {
    const moRef = describeRef(object.obj);
    const fault = faultOf(missing.fault, { kind: 'vim-fault', method: `${method} ${missing.path}`, moRef });
    // A path that this type or version doesn't have is simply absent; everything else must not pass for "absent".
    if (fault === undefined || fault.faultType !== 'InvalidProperty') throw fault ?? unexplained(missing.path, moRef);
  }
  return { ref: object.obj, props: new Map(object.propSet.map(({ name, val }) => [name, val])) };
}

function unexplained(path: string, moRef: string): VimFault {
  return new VimFault({ kind: 'vim-fault', faultType: 'MethodFault', method: `${method} ${path}`, moRef });
}
