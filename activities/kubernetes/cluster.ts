import { headOf, parseList, parseObject, type ListPage } from './answers.ts';
import { isAbsent, isDenial, noAnswer, toClusterError } from './classify.ts';
import { silent, type ClusterLog } from './log.ts';
import { collectionPath, objectPath, withQuery } from './paths.ts';
import { ClusterError, type Cluster, type Resource } from './port.ts';
import { resourceWatch, type StoppableWatch, type WatchSource } from './resource-watch.ts';
import type { ApiAnswer, ApiRequest, Transport } from './transport.ts';

/** The verbs of a cluster over the way to its API server. */
export function clusterOver(transport: Transport, log: ClusterLog = silent): Cluster {
  const ask = asker(transport);
  const watches = new Map<string, StoppableWatch>();
  return {
    async get(resource, namespace, name) {
      const attempt = `read ${resource.kind} ${namespace}/${name}`;
      const answer = await ask({ method: 'GET', path: objectPath(resource, namespace, name) }, attempt, name);
      return answer === undefined ? undefined : parseObject(answer, attempt);
    },

    async list(resource, namespace, labelSelector) {
      return (await listPage(ask, resource, namespace, labelSelector)).items;
    },

    async create(resource, namespace, body, { dryRun = false } = {}) {
      const attempt = `create ${resource.kind} ${namespace === undefined ? '' : `${namespace}/`}${nameIn(body)}`;
      const path = withQuery(collectionPath(resource, namespace), { dryRun: dryRun ? 'All' : undefined });
      return parseObject(await ask({ method: 'POST', path, body: { ...headOf(resource), ...body } }, attempt), attempt);
    },

    async apply(resource, namespace, name, body) {
      const attempt = `apply ${resource.kind} ${namespace}/${name}`;
      const path = withQuery(objectPath(resource, namespace, name), { fieldManager: 'vmflow' });
      const whole = { ...headOf(resource), ...body, metadata: { name, ...(namespace === '' ? {} : { namespace }) } };
      const contentType = 'application/apply-patch+yaml';
      return parseObject(await ask({ method: 'PATCH', path, body: whole, contentType }, attempt), attempt);
    },

    async patch(resource, namespace, name, operations, { status = false } = {}) {
      const attempt = `patch ${resource.kind} ${namespace}/${name}`;
      const path = `${objectPath(resource, namespace, name)}${status ? '/status' : ''}`;
      const contentType = 'application/json-patch+json';
      return parseObject(await ask({ method: 'PATCH', path, body: operations, contentType }, attempt), attempt);
    },

    async remove(resource, namespace, name, preconditions, gracePeriodSeconds) {
      const attempt = `delete ${resource.kind} ${namespace}/${name}`;
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, gracePeriodSeconds };
      const path = objectPath(resource, namespace, name);
      return (await ask({ method: 'DELETE', path, body }, attempt, name)) !== undefined;
    },

    watch(resource) {
      const path = collectionPath(resource);
      const watch = watches.get(path) ?? resourceWatch(watchSource(transport, ask, resource), log);
      watches.set(path, watch);
      return watch;
    },

    async close() {
      for (const watch of watches.values()) watch.stop();
      await transport.close();
    },
  };
}

/** Sends and fails with what a refusal means. With a name: "that object isn't there" is an answer, undefined. */
interface Ask {
  (request: ApiRequest, attempt: string): Promise<ApiAnswer>;
  (request: ApiRequest, attempt: string, name: string): Promise<ApiAnswer | undefined>;
}

function asker(transport: Transport): Ask {
  async function send(request: ApiRequest, attempt: string): Promise<ApiAnswer> {
    try {
      return await transport.send(request);
    } catch (error) {
      throw noAnswer(error, attempt);
    }
  }

  /** While it starts, the API server refuses what the roles allow: only the 403 of one that was ready before counts. */
  async function believable(answer: ApiAnswer, request: ApiRequest, attempt: string): Promise<ApiAnswer> {
    if (answer.status !== 403 || isDenial(answer)) return answer;
    const readiness = await send({ method: 'GET', path: '/readyz' }, attempt);
    if (readiness.status === 200) return send(request, attempt);
    throw new ClusterError('Unavailable', `The API server is starting and can't ${attempt} yet.`, {
      status: answer.status,
    });
  }

  async function ask(request: ApiRequest, attempt: string): Promise<ApiAnswer>;
  async function ask(request: ApiRequest, attempt: string, name: string): Promise<ApiAnswer | undefined>;
  async function ask(request: ApiRequest, attempt: string, name?: string): Promise<ApiAnswer | undefined> {
    const answer = await believable(await send(request, attempt), request, attempt);
    if (name !== undefined && isAbsent(answer, name)) return undefined;
    if (answer.status >= 300) throw toClusterError(answer, attempt);
    return answer;
  }
  return ask;
}

/** Without a resourceVersion the API server answers with what a quorum of its store holds. */
async function listPage(ask: Ask, resource: Resource, namespace?: string, labelSelector?: string): Promise<ListPage> {
  const attempt = `list ${resource.kind} objects${namespace === undefined ? '' : ` of ${namespace}`}`;
  const path = withQuery(collectionPath(resource, namespace), { labelSelector });
  return parseList(await ask({ method: 'GET', path }, attempt), resource, attempt);
}

function watchSource(transport: Transport, ask: Ask, resource: Resource): WatchSource {
  return {
    name: resource.kind,
    list: () => listPage(ask, resource),
    follow(resourceVersion, onEvent, signal) {
      // Bookmarks keep the version young where nothing changes: the next watch goes on from it.
      const path = withQuery(collectionPath(resource), { resourceVersion, allowWatchBookmarks: 'true' });
      return transport.watch(path, onEvent, signal);
    },
  };
}

function nameIn(body: object): string {
  const { metadata } = body as { metadata?: { name?: string; generateName?: string } };
  return metadata?.name ?? `${metadata?.generateName ?? ''}…`;
}
