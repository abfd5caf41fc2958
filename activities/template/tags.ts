import { OperationError } from '../failures.ts';
import type { Tag, VSphereSession } from '../vsphere/port.ts';

/** Tag urns for tags given as urn or `category/name`. An unknown tag is found before anything is uploaded. */
export async function resolveTags(session: VSphereSession, wanted: readonly string[]): Promise<string[]> {
  if (wanted.length === 0) return [];
  const tags = await session.listTags();
  return wanted.map((name) => resolveTag(name, tags));
}

function resolveTag(wanted: string, tags: readonly Tag[]): string {
  const matches = tags.filter((tag) => tag.id === wanted || `${tag.category}/${tag.name}` === wanted);
  const [found] = matches;
  if (found !== undefined && matches.length === 1) return found.id;
  const known = tags.map((tag) => `${tag.category}/${tag.name}`).slice(0, 20);
  const why = matches.length > 1 ? 'names several tags' : 'is unknown';
  throw new OperationError(
    'NotFound',
    `tag "${wanted}" ${why}; there are: ${known.join(', ') || 'none'}; nothing was changed in vCenter`,
    { code: 'TAG_NOT_FOUND' },
  );
}
