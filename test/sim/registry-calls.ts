/** A call to a registry, as its path tells. */
export interface RegistryCall {
  /** `<verb> <part>` */
  readonly method: string;
  readonly part: string;
  readonly repository: string;
  readonly reference: string;
}

export function callOf(verb: string, url: string): RegistryCall {
  const { pathname } = new URL(url, 'http://registry');
  const [, repository = '', kind = '', rest = ''] = /^\/v2\/(.+)\/(manifests|blobs|tags)\/(.*)$/.exec(pathname) ?? [];
  const part = kind === '' ? 'base' : kind === 'blobs' && rest.startsWith('uploads') ? 'uploads' : kind;
  return { method: `${verb.toLowerCase()} ${part}`, part, repository, reference: rest };
}
