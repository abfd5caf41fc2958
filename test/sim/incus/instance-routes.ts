import { Refusal, type Answer } from './answers.ts';
import type { Instance } from './model.ts';
import type { Work } from './operations.ts';
import { creation, removal, replacement } from './instance-work.ts';
import { instanceEtag, stateOfInstance, viewOfInstance } from './instance-views.ts';
import { powerWork } from './power-work.ts';
import { urlOf, type Request, type Route } from './routes.ts';
import type { Server } from './server.ts';
import { instancePost, instancePut, isHostName, parseBody, statePut } from './validate.ts';

function instanceOf({ server, project, params }: Request): Instance {
  const found = server.state.instance(project, params['name'] ?? '');
  if (isHidden(server, found)) throw new Refusal(404, 'Instance not found');
  return found;
}

const isHidden = ({ settings }: Server, { busy }: Instance): boolean =>
  busy === 'create' && !settings.visibleWhileCreating;

function begin({ server, effect }: Request, work: Work): Answer {
  return { kind: 'async', operation: server.operations.begin(work, effect) };
}

/** Virtual machines: created, changed, started, stopped, deleted. */
export const instanceRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/1.0/instances',
    handle: ({ server, project, query }) => {
      const { state } = server;
      // A project that doesn't exist has no instances; nobody says that it doesn't exist.
      const all = state.instances.filter((instance) => instance.project === project && !isHidden(server, instance));
      const isDeep = query['recursion'] === '1';
      const shown = all.map((one) =>
        isDeep ? viewOfInstance(state, one) : urlOf(`/1.0/instances/${one.name}`, one.project),
      );
      return { kind: 'sync', metadata: shown };
    },
  },
  { method: 'POST', path: '/1.0/instances', handle: create },
  {
    method: 'GET',
    path: '/1.0/instances/:name',
    handle: (request) => {
      const instance = instanceOf(request);
      return { kind: 'sync', metadata: viewOfInstance(request.server.state, instance), etag: instanceEtag(instance) };
    },
  },
  { method: 'PUT', path: '/1.0/instances/:name', handle: replace },
  {
    method: 'DELETE',
    path: '/1.0/instances/:name',
    handle: (request) => {
      const instance = instanceOf(request);
      if (instance.status !== 'Stopped') throw new Refusal(400, 'Instance is running');
      return begin(request, removal(request.server, instance));
    },
  },
  {
    method: 'GET',
    path: '/1.0/instances/:name/state',
    handle: (request) => {
      const { agentMs } = request.server.settings;
      return { kind: 'sync', metadata: stateOfInstance(instanceOf(request), agentMs) };
    },
  },
  {
    method: 'PUT',
    path: '/1.0/instances/:name/state',
    handle: (request) => {
      const order = parseBody(statePut, request.body);
      return begin(request, powerWork(request.server, instanceOf(request), order));
    },
  },
];

function create(request: Request): Answer {
  const { server, project, query } = request;
  server.state.project(project);
  const wanted = parseBody(instancePost, request.body);
  if (!isHostName(wanted.name))
    throw new Refusal(400, 'Invalid instance name: Name can only contain letters and dashes');
  if (wanted.source.type !== 'none') throw new Refusal(400, `Unknown source type ${wanted.source.type} here`);
  const { existingName } = server.settings;
  if (existingName !== 'operation' && server.state.findInstance(project, wanted.name) !== undefined)
    throw new Refusal(existingName, `Instance "${wanted.name}" already exists`);
  return begin(request, creation(server, project, wanted, memberFor(request, query['target'])));
}

/** The first member that is there, or the one that was asked for. */
function memberFor({ server: { state } }: Request, target: string | undefined): string {
  if (state.members.size === 0) return 'none';
  const found = [...state.members].find(([name, isThere]) => (target === undefined ? isThere : name === target));
  if (found === undefined) throw new Refusal(400, 'No suitable cluster member could be found');
  return found[0];
}

function replace(request: Request): Answer {
  const instance = instanceOf(request);
  const wanted = parseBody(instancePut, request.body);
  if (request.effect?.kind === 'etag-race') instance.config['user.race'] = String(Math.random());
  if (request.ifMatch !== undefined && request.ifMatch !== instanceEtag(instance))
    throw new Refusal(412, `ETag doesn't match: ${instanceEtag(instance)} vs ${request.ifMatch}`);
  return begin(request, replacement(request.server, instance, wanted));
}
