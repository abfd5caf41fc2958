import type { MoRef, VSphereSession } from '../port.ts';
import type { InventoryPage, SourceCallOptions } from '../source-port.ts';
import { describeVms } from './describe-vms.ts';
import { textOf } from './fields.ts';
import { instancePaths } from './instance-record.ts';
import { listInventory } from './inventory-roots.ts';
import { PageBuilder } from './page-builder.ts';
import { Places } from './places.ts';
import type { ReadEach, ReadEachOptions } from './read-each.ts';
import { readEach } from './read-each.ts';
import { readNetworks } from './read-networks.ts';
import type { SourceDeps } from './source-deps.ts';
import { readOptions } from './source-deps.ts';
import { callOptions, ticking } from './ticking.ts';
import type { Candidate } from './vm-candidates.ts';
import { candidatePaths, chooseCandidates, placeOf } from './vm-candidates.ts';
import { idOf } from './vm-ref.ts';

const sizes = {
  /** VMs whose identities are asked for at once. */
  candidates: 500,
  /** VMs that are read at once with everything, and delivered together. */
  page: 100,
} as const;

/**
 * Reads a source page by page, see `Source.inventory`. All identities come first, so that the order and who stays of two with one
 * UUID are settled. What is gone before its page is read is left out.
 */
export async function* readInventory(
  deps: SourceDeps,
  options: SourceCallOptions & { readonly pageSize?: number },
): AsyncGenerator<InventoryPage, void> {
  const read = readOptions(deps, options);
  const onSession = <T>(work: (session: VSphereSession) => Promise<T>): Promise<T> =>
    ticking(options, () => deps.withSession(work));

  const { candidates, unread, places, networks } = await onSession(async (session) => {
    const list = (type: string): Promise<readonly MoRef[]> =>
      listInventory(session, deps, [type], callOptions(options));
    const places = new Places(session, read);
    const found = await readCandidates(session, await list('VirtualMachine'), places, read);
    const networks = await readNetworks(session, await list('Network'), places, deps.name, read);
    return { ...found, places, networks };
  });
  const { chosen, leftOut } = chooseCandidates(candidates);
  const pages = new PageBuilder(networks);
  pages.addUnread(unread);
  pages.addLeftOut(leftOut);

  const { pageSize = sizes.page } = options;
  for (let at = 0; at < chosen.length; at += pageSize) {
    const refs = chosen.slice(at, at + pageSize).map(({ ref }) => ref);
    await onSession(async (session) => {
      const part = await readEach(session, refs, instancePaths, read);
      pages.addUnread(part.unread);
      pages.add(await describeVms(deps, session, inOrder(part, refs), { places, networks }, options));
    });
    yield pages.take();
  }
  if (!pages.isEmpty) yield pages.take();
}

async function readCandidates(
  session: VSphereSession,
  refs: readonly MoRef[],
  places: Places,
  read: ReadEachOptions,
): Promise<{ readonly candidates: readonly Candidate[]; readonly unread: ReadEach['unread'] }> {
  const candidates: Candidate[] = [];
  const unread: ReadEach['unread'][number][] = [];
  for (let at = 0; at < refs.length; at += sizes.candidates) {
    const part = await readEach(session, refs.slice(at, at + sizes.candidates), candidatePaths, read);
    await places.load(part.found.map(({ props }) => placeOf(props)));
    unread.push(...part.unread);
    for (const { ref, props } of part.found) {
      const location = places.pathOf(placeOf(props), textOf(props.get('name')));
      if (location === undefined) unread.push({ ref, why: `${idOf(ref)}: the folder it is in could not be read` });
      else candidates.push({ ref, props, location, uuid: textOf(props.get('config.instanceUuid')).toLowerCase() });
    }
  }
  return { candidates, unread };
}

/** The server's order is not ours, and reading one by one has none. */
function inOrder({ found }: ReadEach, refs: readonly MoRef[]): ReadEach['found'] {
  const byRef = new Map(found.map((content) => [content.ref.value, content]));
  return refs.map(({ value }) => byRef.get(value)).filter((content) => content !== undefined);
}
