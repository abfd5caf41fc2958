import { readEntry } from './entry-reader.ts';
import type { Findings } from './findings.ts';
import { parseManifest } from './manifest.ts';
import { listMembers, topLevelFiles, type Member } from './member.ts';
import { maxManifestBytes, type MemberDigests } from './member-digests.ts';
import type { RunOptions } from './options.ts';
import { SourceError } from './source-error.ts';

export interface ManifestCheck {
  readonly path: string;
  readonly members: readonly Member[];
  readonly descriptor: Member;
  /** What will be imported; each should have a line. */
  readonly needed: readonly Member[];
  readonly required: boolean;
  readonly digests: MemberDigests;
}

/**
 * Compares the members with the manifest, if there is one. Fails with `MANIFEST_MISMATCH`, `MANIFEST_ALGORITHM` and, when a
 * manifest is required, `MANIFEST_MISSING`.
 */
export async function verifyManifest(check: ManifestCheck, findings: Findings, run: RunOptions): Promise<void> {
  const manifest = findManifest(check.members, check.descriptor);
  if (manifest === undefined) {
    if (!check.required) return;
    throw new SourceError(
      'MANIFEST_MISSING',
      `a manifest is required, but there is none; ${listMembers(check.members)}`,
    );
  }
  if (manifest.size > maxManifestBytes) {
    throw new SourceError('MANIFEST_MISMATCH', `manifest "${manifest.rawName}" is larger than 1 MiB`);
  }
  const lines = parseManifest(manifest.name, (await readEntry(check.path, manifest)).toString('utf8'));
  for (const line of lines) {
    const member = check.members.find((candidate) => candidate.name === line.name);
    if (member === undefined) {
      findings.warn('MANIFEST_MISMATCH', `the manifest lists "${line.name}", which is not in the archive`);
      continue;
    }
    const found = await check.digests.digest(member, line.algorithm, run);
    if (found !== line.digest) {
      throw new SourceError(
        'MANIFEST_MISMATCH',
        `member "${member.rawName}" has the ${line.algorithm} ${found}, the manifest says ${line.digest}`,
      );
    }
  }
  const listed = new Set(lines.map((line) => line.name));
  const unlisted = [check.descriptor, ...check.needed].filter((member) => !listed.has(member.name));
  if (unlisted.length === 0) return;
  const message = `manifest "${manifest.rawName}" has no line for ${unlisted.map(({ rawName }) => `"${rawName}"`).join(', ')}`;
  if (check.required) throw new SourceError('MANIFEST_MISSING', message);
  findings.warn('MANIFEST_MISSING', message);
}

/** The one with the descriptor's base name, or else the only one. */
function findManifest(members: readonly Member[], descriptor: Member): Member | undefined {
  const manifests = topLevelFiles(members, '.mf');
  const base = descriptor.name.replace(/\.[^.]*$/, '').toLowerCase();
  return (
    manifests.find((member) => member.name.toLowerCase() === `${base}.mf`) ??
    (manifests.length === 1 ? manifests[0] : undefined)
  );
}
