import type { Findings } from './findings.ts';
import { isRegularFile, isUnsafeName, listMembers, plainName, topLevelFiles, type Member } from './member.ts';
import { SourceError } from './source-error.ts';

const maxDescriptorBytes = 10 * 1024 * 1024;

/** The one descriptor of the package. Fails with `OVA_NO_DESCRIPTOR`, `OVA_MANY_DESCRIPTORS`, `OVA_UNSAFE_ENTRY`, `OVF_TOO_LARGE`. */
export function findDescriptor(members: readonly Member[], findings: Findings): Member {
  const found = topLevelFiles(members, '.ovf');
  const [descriptor] = found;
  if (descriptor === undefined) {
    throw new SourceError('OVA_NO_DESCRIPTOR', `there is no .ovf descriptor at its top level; ${listMembers(members)}`);
  }
  if (found.length > 1) {
    throw new SourceError(
      'OVA_MANY_DESCRIPTORS',
      `there is more than one descriptor: ${listMembers(found).slice('it has '.length)}`,
    );
  }
  refuseUnsafe(descriptor, 'the descriptor');
  if (descriptor.size > maxDescriptorBytes) {
    throw new SourceError(
      'OVF_TOO_LARGE',
      `descriptor "${descriptor.rawName}" has ${String(descriptor.size)} bytes; the limit is 10 MiB`,
    );
  }
  const files = members.filter((member) => member.type !== 'directory');
  if (files[0] !== descriptor) {
    findings.odd(
      'OVA_DESCRIPTOR_NOT_FIRST',
      `descriptor "${descriptor.rawName}" is not the first member; ${listMembers(members)}`,
    );
  }
  return descriptor;
}

function refuseUnsafe(member: Member, what: string): void {
  if (!isRegularFile(member)) {
    const type = member.type ?? 'of an unknown type';
    throw new SourceError(
      'OVA_UNSAFE_ENTRY',
      `${what} "${member.rawName}" is no regular file in the archive but ${type}`,
    );
  }
  if (isUnsafeName(member.rawName)) {
    throw new SourceError(
      'OVA_UNSAFE_ENTRY',
      `${what} "${member.rawName}" has an absolute path or leads out of the archive`,
    );
  }
}

/** The member behind a File of the References. Fails with `OVF_FILE_MISSING`, `OVA_UNSAFE_ENTRY`. */
export function findReferenced(
  file: { readonly href: string; readonly size?: number },
  members: readonly Member[],
  findings: Findings,
): Member {
  const named = members.filter((member) => hrefNames(file.href).includes(member.name));
  const [member] = named;
  if (member === undefined) {
    throw new SourceError(
      isUnsafeName(plainName(file.href)) ? 'OVA_UNSAFE_ENTRY' : 'OVF_FILE_MISSING',
      `the descriptor refers to file "${file.href}", which is not in the archive; ${listMembers(members)}`,
    );
  }
  refuseUnsafe(member, 'the referenced member');
  if (named.length > 1) {
    throw new SourceError(
      'OVA_UNSAFE_ENTRY',
      `the referenced member "${member.rawName}" is in the archive ${String(named.length)} times`,
    );
  }
  if (file.size !== undefined && file.size !== member.size) {
    const declared = Number.isNaN(file.size) ? 'no number' : `${String(file.size)} bytes`;
    findings.odd(
      'OVF_SIZE_MISMATCH',
      `the descriptor gives "${file.href}" ${declared}, the archive holds ${String(member.size)} bytes`,
    );
  }
  return member;
}

/** An href is a URI: blanks and the like may be escaped, or not. */
function hrefNames(href: string): string[] {
  const plain = plainName(href);
  try {
    return [plain, decodeURIComponent(plain)];
  } catch {
    return [plain];
  }
}
