import { VSphereError } from '../faults.ts';
import type { CallOptions, MoRef, Tag, VSphereSession } from '../port.ts';

/** Every tag is a request of its own: for a while the list is used again. */
const freshForMs = 60_000;

/** Names of tags by their ids, read when they are needed. */
export class TagNames {
  #known: { readonly at: number; readonly tags: ReadonlyMap<string, Tag> } | undefined;

  /** Category → names, by the value of each reference. Fails where tags can't be read: without them a VM would look changed. */
  async of(
    session: VSphereSession,
    refs: readonly MoRef[],
    options: CallOptions,
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>> {
    const ids = await tagIds(session, refs, options);
    const all = [...ids.values()].flat();
    const tags = all.length === 0 ? new Map<string, Tag>() : await this.#names(session, all, options);
    return new Map([...ids].map(([ref, its]) => [ref, byCategory(its, tags)]));
  }

  async #names(
    session: VSphereSession,
    needed: readonly string[],
    options: CallOptions,
  ): Promise<ReadonlyMap<string, Tag>> {
    const known = this.#known;
    const isFresh = known !== undefined && performance.now() - known.at < freshForMs;
    if (isFresh && needed.every((id) => known.tags.has(id))) return known.tags;
    const tags = new Map((await session.listTags(options)).map((tag) => [tag.id, tag]));
    this.#known = { at: performance.now(), tags };
    return tags;
  }
}

/** One object that is gone may fail the question about all of them. */
async function tagIds(
  session: VSphereSession,
  refs: readonly MoRef[],
  options: CallOptions,
): Promise<ReadonlyMap<string, readonly string[]>> {
  try {
    return await session.vms.tagIds(refs, options);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const found = new Map<string, readonly string[]>();
    for (const ref of refs) found.set(ref.value, await session.attachedTags(ref, options).catch(noneIfGone));
    return found;
  }
}

const isNotFound = (error: unknown): boolean => error instanceof VSphereError && error.info.httpStatus === 404;

function noneIfGone(error: unknown): readonly string[] {
  if (isNotFound(error)) return [];
  throw error;
}

function byCategory(ids: readonly string[], tags: ReadonlyMap<string, Tag>): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const id of ids) {
    const tag = tags.get(id);
    // Deleted between the two questions.
    if (tag === undefined) continue;
    found.set(tag.category, [...(found.get(tag.category) ?? []), tag.name]);
  }
  return found;
}
