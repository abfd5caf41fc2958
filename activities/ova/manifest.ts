import { SourceError } from './source-error.ts';
import { plainName } from './member.ts';

/** One line of a manifest. */
export interface ManifestLine {
  readonly name: string;
  /** Node's name of the digest. */
  readonly algorithm: 'sha1' | 'sha256' | 'sha512';
  /** Hex, lower case. */
  readonly digest: string;
}

const algorithms: ReadonlyMap<string, ManifestLine['algorithm']> = new Map([
  ['SHA1', 'sha1'],
  ['SHA-1', 'sha1'],
  ['SHA256', 'sha256'],
  ['SHA-256', 'sha256'],
  ['SHA2-256', 'sha256'],
  ['SHA512', 'sha512'],
  ['SHA-512', 'sha512'],
  ['SHA2-512', 'sha512'],
]);
const hexDigits = { sha1: 40, sha256: 64, sha512: 128 } as const;

/** Reads `ALG(file)= hex` in all the spellings that are found. Fails with `MANIFEST_ALGORITHM`, `MANIFEST_MISMATCH`. */
export function parseManifest(manifestName: string, text: string): ManifestLine[] {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  return lines.flatMap((line, index) => {
    if (line.trim() === '') return [];
    const where = `line ${String(index + 1)} of manifest "${manifestName}"`;
    const match = /^\s*([A-Za-z][A-Za-z0-9-]*)\s*\((.+)\)\s*=\s*([0-9a-fA-F]+)\s*$/.exec(line);
    if (match === null) throw new SourceError('MANIFEST_MISMATCH', `${where} is no digest: "${line.slice(0, 80)}"`);
    const [, spelling = '', name = '', digest = ''] = match;
    const plain = plainName(name.trim());
    if (plain === manifestName) return [];
    const algorithm = algorithms.get(spelling.toUpperCase());
    if (algorithm === undefined) {
      throw new SourceError('MANIFEST_ALGORITHM', `${where} uses the unknown digest "${spelling}"`);
    }
    if (digest.length !== hexDigits[algorithm]) {
      throw new SourceError('MANIFEST_MISMATCH', `${where} has a digest of the wrong length for ${spelling}`);
    }
    return [{ name: plain, algorithm, digest: digest.toLowerCase() }];
  });
}
