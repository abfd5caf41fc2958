import { cutToBytes } from '../../workflows/domain/text.ts';

/** Fields that never reach a log line or a record. */
const secretFields = ['password', 'cookie', 'authorization', 'token', 'url', 'apiKey'];

export const censor = '[redacted]';
const secretName = new RegExp(
  `^(${secretFields.join('|')})$|passw|pwd|passphrase|secret|credential|private.?key|api.?key|(auth|access|refresh|bearer).?token`,
  'i',
);

const namesInTexts = 'password|passwd|pwd|passphrase|secret|token|api[-_]?key';
const valueInTexts = `(?:"[^"]*"|'[^']*'|[^\\s"',;]+)`;

/** Secrets that people write into texts: users and queries of URLs, keys, `Bearer …`, `password=…`. Quick on long texts too. */
const inTexts: readonly (readonly [RegExp, string])[] = [
  [/([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s"']*@/gi, `$1${censor}@`],
  [/([a-z][a-z0-9+.-]{0,20}:\/\/[^\s?"']+\?)[^\s"']+/gi, `$1${censor}`],
  [/(-----BEGIN [A-Z ]*PRIVATE KEY-----)[^-]*/g, `$1${censor}`],
  [/\b(bearer|basic) +[a-z0-9+/=._~-]{8,}/gi, `$1 ${censor}`],
  [new RegExp(`((?:${namesInTexts})["']?\\s*[=:]\\s*)${valueInTexts}`, 'gi'), `$1${censor}`],
  [new RegExp(`(--(?:[a-z]+-)*(?:${namesInTexts})\\s+)${valueInTexts}`, 'gi'), `$1${censor}`],
];

/** A record stays readable, and small: of a longer text or argument the beginning is kept. Bytes. */
const longest = 2_048;

/** The text without secrets. */
export function cleanText(text: string): string {
  return inTexts.reduce((rest, [pattern, by]) => rest.replace(pattern, by), text);
}

/** What a field of this name holds is shown to nobody. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/** The text without secrets, cut. */
export function safeText(text: string): string {
  const clean = cleanText(text);
  return clean.length * 3 <= longest ? clean : cut(clean);
}

/** The value without secrets; when it is too long as JSON, the beginning of that. */
export function safeValue(value: unknown): unknown {
  const clean = withoutSecrets(value);
  const text = JSON.stringify(clean) as string | undefined;
  return text === undefined || text.length * 3 <= longest || cut(text) === text ? clean : cut(text);
}

function cut(text: string): string {
  const short = cutToBytes(text, longest);
  return short === text ? text : `${cutToBytes(text, longest - 3)}…`;
}

function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, isSecretName(name) ? censor : withoutSecrets(part)]),
  );
}
