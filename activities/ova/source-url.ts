import { SourceError } from './source-error.ts';

/** A URL as it may appear in messages and logs: without query and fragment, which may be credentials. */
export function redactedUrl(url: string | URL): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : url;
  if (parsed === null) return '(unreadable URL)';
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}${parsed.search === '' ? '' : '?…'}`;
}

/** Fails with `SOURCE_URL` for what must not be fetched. */
export function checkedUrl(url: string, base?: URL): URL {
  const parsed = URL.parse(url, base?.href);
  if (parsed === null) throw new SourceError('SOURCE_URL', 'the URL of the OVA can not be read');
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    throw new SourceError('SOURCE_URL', `an OVA is fetched by http or https, not by ${parsed.protocol}`);
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new SourceError(
      'SOURCE_URL',
      `the URL of the OVA on ${parsed.host} contains user information; use headersRef for credentials`,
    );
  }
  return parsed;
}
