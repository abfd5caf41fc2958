import { createHash } from 'node:crypto';
import { isRecord, jsonOf } from './classify.ts';
import { isDigest } from './names.ts';
import { RegistryError, type Descriptor, type Manifest } from './port.ts';
import type { RegistryAnswer } from './transport.ts';

/** What may stand under a reference. Without these the registry denies that there is what it holds. */
export const manifestTypes = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];

/**
 * The manifest of a 200. Half a body, one of another digest or none that is a manifest proves nothing: `Unexpected`.
 * @param attempt what was asked, to follow "to"
 */
export function parseManifest(answer: RegistryAnswer, server: string, attempt: string, reference: string): Manifest {
  const digest = digestOf(answer, server, attempt, reference);
  const found = `sha256:${createHash('sha256').update(answer.body).digest('hex')}`;
  if (found !== digest) throw odd(answer, server, attempt, `the content has the digest ${found} instead of ${digest}`);
  const body = jsonOf(answer.body);
  if (!isRecord(body)) throw odd(answer, server, attempt, 'the content is no manifest');
  const mediaType = stringOf(body['mediaType']) ?? answer.headers['content-type']?.split(';')[0]?.trim() ?? '';
  if (!manifestTypes.includes(mediaType))
    throw odd(answer, server, attempt, `the content is of the type "${mediaType}", which is no manifest`);
  const artifactType = stringOf(body['artifactType']);
  const config = descriptorOf(body['config']);
  const layers = Array.isArray(body['layers']) ? body['layers'] : [];
  return {
    digest,
    mediaType,
    ...(artifactType === undefined ? {} : { artifactType }),
    annotations: stringsOf(body['annotations']),
    ...(config === undefined ? {} : { config }),
    layers: layers.flatMap((layer) => descriptorOf(layer) ?? []),
  };
}

/** The digest that the registry names; it has to be the one that was asked for, where one was. */
export function digestOf(
  { headers, status }: RegistryAnswer,
  server: string,
  attempt: string,
  reference: string,
): string {
  const digest = headers['docker-content-digest'];
  if (digest === undefined || !isDigest(digest)) throw odd({ status }, server, attempt, 'it names no sha256 digest');
  if (isDigest(reference) && digest !== reference)
    throw odd({ status }, server, attempt, `it names the digest ${digest} instead of the one asked for`);
  return digest;
}

function odd({ status }: Pick<RegistryAnswer, 'status'>, server: string, attempt: string, why: string): RegistryError {
  const message = `${server} answered oddly when asked to ${attempt}: ${why}. Nothing is concluded from that.`;
  return new RegistryError('Unexpected', message, { status });
}

function descriptorOf(value: unknown): Descriptor | undefined {
  if (!isRecord(value)) return undefined;
  const { mediaType, digest, size } = value;
  if (typeof digest !== 'string' || typeof size !== 'number') return undefined;
  return { mediaType: stringOf(mediaType) ?? '', digest, size };
}

function stringsOf(value: unknown): Record<string, string> {
  const entries = isRecord(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

const stringOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
