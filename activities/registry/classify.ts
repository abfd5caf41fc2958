import { RegistryError, type RegistryErrorReason } from './port.ts';
import type { RegistryAnswer } from './transport.ts';

interface Complaint {
  readonly code: string;
  readonly message: string;
}

/** Longer words of a registry are cut: they end up in failures, logs and on terminals. */
const longest = 300;

const unknownManifest = ['MANIFEST_UNKNOWN', 'NAME_UNKNOWN'];
const unknownBlob = ['BLOB_UNKNOWN', 'NAME_UNKNOWN'];

/** True when the registry says that there is no such manifest. */
export function isAbsentManifest(answer: RegistryAnswer): boolean {
  return saysUnknown(answer, unknownManifest);
}

/** True when the registry says that there is no such blob. */
export function isAbsentBlob(answer: RegistryAnswer): boolean {
  return saysUnknown(answer, unknownBlob);
}

function saysUnknown(answer: RegistryAnswer, codes: readonly string[]): boolean {
  if (answer.status !== 404) return false;
  const complaints = complaintsOf(answer);
  // "OCI manifest found, but accept header does not support OCI manifests": there is one.
  if (complaints.some(({ message }) => /manifest found/i.test(message))) return false;
  return complaints.some(({ code }) => codes.includes(code));
}

const reasons: Readonly<Record<number, RegistryErrorReason>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  408: 'Unavailable',
  429: 'TooManyRequests',
};

const names = ['NAME_INVALID', 'TAG_INVALID', 'DIGEST_INVALID'];

/**
 * What a refusal means.
 * @param attempt what was asked, to follow "to": `delete vms/vk-demo-web-0:hibernate`
 * @param isDelete a 405 means that nothing can be deleted
 */
export function toRegistryError(
  answer: RegistryAnswer,
  server: string,
  attempt: string,
  isDelete = false,
): RegistryError {
  const reason = reasonOf(answer, isDelete);
  const verb = reason === 'Unavailable' ? 'failed' : 'refused';
  const head = reason === 'Unexpected' ? `${server} answered oddly when asked` : `${server} ${verb}`;
  return new RegistryError(reason, `${head} to ${attempt} (${answer.status})${wordsOf(answer)}.${advice[reason]}`, {
    status: answer.status,
    retryAfterS: retryAfterOf(answer),
  });
}

const advice: Readonly<Record<RegistryErrorReason, string>> = {
  Unauthorized: ' Check the credentials of this registry.',
  Forbidden: ' Grant the account this right.',
  DeletionDisabled: ' Turn deletion on in the registry.',
  TooManyRequests: '',
  Invalid: '',
  Untrusted: '',
  Timeout: '',
  Unavailable: '',
  Unexpected: ' Check that the address is that of a registry.',
};

function reasonOf(answer: RegistryAnswer, isDelete: boolean): RegistryErrorReason {
  const codes = complaintsOf(answer).map(({ code }) => code);
  if (isDelete && (answer.status === 405 || codes.includes('UNSUPPORTED'))) return 'DeletionDisabled';
  if (answer.status === 401 && isOutOfScope(answer)) return 'Forbidden';
  if (answer.status >= 500) return 'Unavailable';
  if (answer.status === 400 && codes.some((code) => names.includes(code))) return 'Invalid';
  return reasons[answer.status] ?? 'Unexpected';
}

/** The token is good, and doesn't allow this. */
function isOutOfScope({ headers }: RegistryAnswer): boolean {
  return /\berror="?insufficient_scope\b/.test(headers['www-authenticate'] ?? '');
}

function retryAfterOf({ headers }: RegistryAnswer): number | undefined {
  const seconds = Number(headers['retry-after']);
  return seconds > 0 ? seconds : undefined;
}

/** A body that is no list of errors (a proxy's page, say) is not repeated: nobody knows what it holds. */
function complaintsOf({ body }: RegistryAnswer): Complaint[] {
  const parsed = jsonOf(body);
  const list: unknown = isRecord(parsed) ? parsed['errors'] : undefined;
  if (!Array.isArray(list)) return [];
  return list.filter(isRecord).map(({ code, message }) => ({ code: textOf(code), message: textOf(message) }));
}

/** Undefined where it is no JSON. */
export function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function wordsOf(answer: RegistryAnswer): string {
  const words = complaintsOf(answer)
    .map(({ code, message }) => [code, message].filter((part) => part !== '').join(' '))
    .join('; ')
    .replace(/\.$/, '');
  if (words === '') return '';
  return `: ${words.length <= longest ? words : `${words.slice(0, longest - 1)}…`}`;
}
