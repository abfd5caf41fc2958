import { Refusal, type Answer } from './answers.ts';
import type { Network, Pool, Project } from './model.ts';
import { urlOf, type Request, type Route } from './routes.ts';

const sync = (metadata: unknown): Answer => ({ kind: 'sync', metadata });

const viewOfPool = ({ name, driver, config }: Pool) => ({
  name,
  driver,
  config,
  description: '',
  status: 'Created',
  used_by: [],
  locations: ['none'],
});

const viewOfNetwork = ({ name, type, managed, config, project }: Network) => ({
  name,
  type,
  managed,
  config,
  project,
  description: '',
  status: managed ? 'Created' : '',
  used_by: [],
});

const viewOfProject = ({ name, description, config }: Project) => ({ name, description, config, used_by: [] });

/** A list as objects or as URLs. */
function listOf<T extends { readonly name: string }>(
  { query }: Request,
  all: readonly T[],
  view: (one: T) => unknown,
  url: (one: T) => string,
): Answer {
  return sync(all.map((one) => (query['recursion'] === '1' ? view(one) : url(one))));
}

/** The server as a whole: what a client may only read. */
export const factRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/1.0/projects',
    handle: (request) =>
      listOf(
        request,
        [...request.server.state.projects.values()],
        viewOfProject,
        ({ name }) => `/1.0/projects/${name}`,
      ),
  },
  {
    method: 'GET',
    path: '/1.0/projects/:name',
    handle: ({ server, params }) => sync(viewOfProject(server.state.project(params['name'] ?? ''))),
  },
  {
    method: 'GET',
    path: '/1.0/storage-pools',
    handle: (request) =>
      listOf(request, [...request.server.state.pools.values()], viewOfPool, ({ name }) => `/1.0/storage-pools/${name}`),
  },
  {
    method: 'GET',
    path: '/1.0/storage-pools/:pool',
    handle: ({ server, params }) => sync(viewOfPool(server.state.pool(params['pool'] ?? ''))),
  },
  {
    method: 'GET',
    path: '/1.0/networks',
    handle: (request) =>
      listOf(request, request.server.state.networksOf(request.project), viewOfNetwork, ({ name }) =>
        urlOf(`/1.0/networks/${name}`, request.project),
      ),
  },
  {
    method: 'GET',
    path: '/1.0/networks/:name',
    handle: ({ server, params, project }) => {
      const found = server.state.networksOf(project).find(({ name }) => name === params['name']);
      if (found === undefined) throw new Refusal(404, 'Network not found');
      return sync(viewOfNetwork(found));
    },
  },
  {
    method: 'GET',
    path: '/1.0/cluster/members',
    handle: ({ server: { state } }) => {
      if (state.members.size === 0) throw new Refusal(500, 'Server is not clustered');
      return sync(
        [...state.members].map(([name, isThere]) => ({ server_name: name, status: isThere ? 'Online' : 'Offline' })),
      );
    },
  },
];

/** What `GET /1.0` answers, also to clients that nobody trusts. */
export function serverView({ state, settings }: Request['server'], isTrusted: boolean) {
  const common = { api_version: '1.0', auth: isTrusted ? 'trusted' : 'untrusted', api_extensions: settings.extensions };
  if (!isTrusted) return common;
  return {
    ...common,
    environment: {
      server: 'incus',
      server_version: settings.version,
      server_clustered: state.members.size > 0,
      storage_supported_drivers: [
        { Name: 'dir', Remote: false },
        { Name: 'zfs', Remote: false },
        { Name: 'lvm', Remote: false },
        { Name: 'ceph', Remote: true },
      ],
    },
  };
}
