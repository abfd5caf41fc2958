import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat, truncate } from 'node:fs/promises';

import { ovfDescriptor, type DescriptorOptions } from './ovf-descriptor.ts';
import { bodyDigest, bodySize, writeTar, type Body, type TarMemberSpec, type TarOptions } from './tar-writer.ts';
import { streamOptimizedVmdk, vmdkHead } from './vmdk-builder.ts';

export interface ManifestOptions {
  /** As it is spelled; default `SHA256`. */
  readonly spelling?: 'SHA1' | 'SHA256' | 'SHA512' | 'SHA2-256' | 'SHA-256' | (string & {});
  /** `blanks`: `SHA256 (x) = …` instead of `SHA256(x)= …`. */
  readonly style?: 'plain' | 'blanks';
  readonly position?: 'second' | 'first' | 'last';
  /** Names of members whose digests are wrong. */
  readonly wrong?: readonly string[];
  /** Names of members that have no line. */
  readonly omit?: readonly string[];
  /** Appended as it is. */
  readonly extraLines?: string;
}

export interface OvaOptions {
  /** Where the OVA is written. */
  readonly path: string;
  /** Of the virtual machine, the descriptor and the disks; default `vm`. */
  readonly name?: string;
  /** Default: one stream-optimised disk of 8 MiB with a little data. */
  readonly disks?: readonly Body[];
  /** For the generated descriptor. */
  readonly descriptor?: Omit<DescriptorOptions, 'name' | 'disks'>;
  /** Instead of the generated descriptor. */
  readonly descriptorText?: string | Uint8Array;
  /** Last touch to the descriptor's text. */
  readonly editDescriptor?: (text: string) => string;
  /** False: no manifest. Default: SHA256, second. */
  readonly manifest?: ManifestOptions | false;
  /** Last touch to the list of members: order, names, types, duplicates. */
  readonly editMembers?: (members: TarMemberSpec[]) => readonly TarMemberSpec[];
  /** Prefix of all names in the tar. */
  readonly prefix?: './';
  readonly tar?: TarOptions;
  /** Cuts the file to this many bytes; negative: so many off the end. */
  readonly truncateTo?: number;
}

export interface BuiltOva {
  readonly path: string;
  /** Of the whole file. */
  readonly sha256: string;
  readonly size: number;
  /** Of the disks' members, in order. */
  readonly diskNames: readonly string[];
}

/** A small valid disk. */
export const smallDisk = (capacityBytes = 8 * 1024 * 1024, text = 'vmflow test disk'): Buffer =>
  streamOptimizedVmdk(Buffer.from(text), { capacityBytes });

/** A disk file of any size that costs no memory (and, with zeros, no disk space); it begins like a stream-optimised VMDK. */
export const bigDisk = (size: number, fill: 'zeros' | 'pattern' = 'zeros'): Body => ({
  size,
  fill,
  head: vmdkHead({ capacityBytes: size }),
});

/** Builds an OVA whose descriptor the vCenter simulator imports, or one that is wrong in just the way a test wants. */
export async function buildOva(options: OvaOptions): Promise<BuiltOva> {
  const name = options.name ?? 'vm';
  const disks = options.disks ?? [smallDisk()];
  const diskNames = disks.map((_, index) => `${name}-disk${String(index + 1)}.vmdk`);
  const diskMembers = disks.map((body, index): TarMemberSpec => ({ name: diskNames[index]!, body }));
  const generated = ovfDescriptor({
    ...options.descriptor,
    name,
    disks: diskMembers.map((member) => ({ href: member.name, size: bodySize(member.body!) })),
  });
  const given = options.descriptorText ?? generated;
  const edited = typeof given === 'string' ? (options.editDescriptor?.(given) ?? given) : given;
  const descriptor: TarMemberSpec = { name: `${name}.ovf`, body: Buffer.from(edited as string) };
  const members = withManifest(`${name}.mf`, [descriptor, ...diskMembers], options.manifest ?? {});
  const final = options.editMembers?.(members) ?? members;
  await writeTar(
    options.path,
    final.map((member) => ({ ...member, name: `${options.prefix ?? ''}${member.name}` })),
    options.tar,
  );
  if (options.truncateTo !== undefined) await cut(options.path, options.truncateTo);
  return { path: options.path, ...(await digestOf(options.path)), diskNames };
}

function withManifest(name: string, files: TarMemberSpec[], manifest: ManifestOptions | false): TarMemberSpec[] {
  if (manifest === false) return files;
  const member: TarMemberSpec = { name, body: Buffer.from(manifestText(files, manifest)) };
  const at = { first: 0, second: 1, last: files.length }[manifest.position ?? 'second'];
  return files.toSpliced(at, 0, member);
}

function manifestText(files: readonly TarMemberSpec[], manifest: ManifestOptions): string {
  const spelling = manifest.spelling ?? 'SHA256';
  const algorithm = /512/.test(spelling) ? 'sha512' : /256/.test(spelling) ? 'sha256' : 'sha1';
  const lines = files
    .filter((file) => manifest.omit?.includes(file.name) !== true)
    .map((file) => {
      const digest = bodyDigest(file.body ?? new Uint8Array(), algorithm);
      const written = manifest.wrong?.includes(file.name) === true ? digest.replace(/./g, '0') : digest;
      return manifest.style === 'blanks'
        ? `${spelling} (${file.name}) = ${written}`
        : `${spelling}(${file.name})= ${written}`;
    });
  return `${lines.join('\n')}\n${manifest.extraLines ?? ''}`;
}

async function cut(path: string, to: number): Promise<void> {
  await truncate(path, to >= 0 ? to : (await stat(path)).size + to);
}

async function digestOf(path: string): Promise<{ readonly sha256: string; readonly size: number }> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    hash.update(chunk as Buffer);
    size += (chunk as Buffer).length;
  }
  return { sha256: hash.digest('hex'), size };
}
