import { authorized, type AuthorizedRequest, type Scope } from './authorization.ts';
import { isAbsentBlob, isAbsentManifest, isRecord, jsonOf, toRegistryError } from './classify.ts';
import { digestOf, manifestTypes, parseManifest } from './manifest.ts';
import { checkNames, isDigest, repositoryOf } from './names.ts';
import { RegistryError, type CallOptions, type Registry, type RegistryEndpoint } from './port.ts';
import type { RegistryAnswer, RegistryTransport } from './transport.ts';

const acceptManifests = { accept: manifestTypes.join(', ') };

/** The verbs of a registry over the way to it. */
export function registryOver(endpoint: RegistryEndpoint, transport: RegistryTransport): Registry {
  const send = authorized(endpoint, transport);
  const server = `The registry ${endpoint.name}`;

  /** One request about one thing in a repository. */
  function ask(
    repository: string,
    what: { readonly method: AuthorizedRequest['method']; readonly path: string; readonly attempt: string },
    action: Scope['action'],
    headers: Readonly<Record<string, string>>,
    { signal }: CallOptions = {},
  ): Promise<RegistryAnswer> {
    const url = new URL(`/v2/${repository}/${what.path}`, endpoint.url);
    return send({ ...what, url, headers, scope: { repository, action }, ...(signal === undefined ? {} : { signal }) });
  }

  function place(name: string, reference: string): { readonly repository: string; readonly named: string } {
    const repository = repositoryOf(endpoint.prefix, name);
    checkNames(repository, reference);
    return { repository, named: `${repository}${isDigest(reference) ? '@' : ':'}${reference}` };
  }

  const registry: Registry = {
    async manifest(name, reference, options) {
      const { repository, named } = place(name, reference);
      const what = { method: 'GET', path: `manifests/${reference}`, attempt: `read ${named}` } as const;
      const answer = await ask(repository, what, 'pull', acceptManifests, options);
      if (answer.status === 200) return parseManifest(answer, server, what.attempt, reference);
      if (isAbsentManifest(answer)) return undefined;
      throw toRegistryError(answer, server, what.attempt);
    },

    async digest(name, reference, options) {
      const { repository, named } = place(name, reference);
      const what = { method: 'HEAD', path: `manifests/${reference}`, attempt: `look for ${named}` } as const;
      const answer = await ask(repository, what, 'pull', acceptManifests, options);
      if (answer.status === 200) return digestOf(answer, server, what.attempt, reference);
      // Without a body nothing says what it is that is missing.
      if (answer.status === 404) return (await registry.manifest(name, reference, options))?.digest;
      throw toRegistryError(answer, server, what.attempt);
    },

    async remove(name, reference, options) {
      const { repository, named } = place(name, reference);
      const what = { method: 'DELETE', path: `manifests/${reference}`, attempt: `delete ${named}` } as const;
      const answer = await ask(repository, what, 'delete', {}, options);
      if ([200, 202, 204].includes(answer.status)) return true;
      if (isAbsentManifest(answer)) return false;
      throw toRegistryError(answer, server, what.attempt, true);
    },

    async hasBlob(name, digest, options) {
      const { repository, named } = place(name, digest);
      const what = { method: 'HEAD', path: `blobs/${digest}`, attempt: `look for the blob ${named}` } as const;
      const answer = await ask(repository, what, 'pull', {}, options);
      if (isThere(answer)) return true;
      if (answer.status !== 404) throw toRegistryError(answer, server, what.attempt);
      const said = await ask(repository, { ...what, method: 'GET' }, 'pull', { range: 'bytes=0-0' }, options);
      if (isThere(said)) return true;
      if (isAbsentBlob(said)) return false;
      throw toRegistryError(said, server, what.attempt);
    },

    async ping({ signal } = {}) {
      const url = new URL('/v2/', endpoint.url);
      const attempt = 'say who it is';
      const answer = await send({
        method: 'GET',
        url,
        headers: {},
        attempt,
        ...(signal === undefined ? {} : { signal }),
      });
      if (answer.status !== 200) throw toRegistryError(answer, server, attempt);
      if (answer.headers['docker-distribution-api-version'] === undefined && !isRecord(jsonOf(answer.body)))
        throw new RegistryError('Unexpected', `What answers at ${url.host} is no registry: check its url.`, {
          status: 200,
        });
    },

    close: () => transport.close(),
  };
  return registry;
}

/** Registries that keep blobs elsewhere look whether they have one before they send us there. */
function isThere({ status, headers }: RegistryAnswer): boolean {
  return (
    status === 200 || status === 206 || ([302, 303, 307, 308].includes(status) && headers['location'] !== undefined)
  );
}
