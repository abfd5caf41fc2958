import { done, etagOf, Refusal, type Answer } from './answers.ts';
import { volumeBytes, type Volume } from './model.ts';
import { urlOf, type Request, type Route } from './routes.ts';
import type { State } from './state.ts';
import { parseBody, volumePost, volumePut } from './validate.ts';

const base = '/1.0/storage-pools/:pool/volumes';

function viewOf(state: State, volume: Volume) {
  const { name, type, contentType, location, description, config, project } = volume;
  return {
    name,
    type,
    content_type: contentType,
    location,
    description,
    config,
    project,
    used_by: state.usersOf(volume).map((user) => urlOf(`/1.0/instances/${user.name}`, user.project)),
  };
}

/** As with real servers, a change of the description alone leaves it as it is. */
const etag = ({ name, type, config }: Volume): string => etagOf({ name, type, config });

const volumeOf = ({ server, params, project }: Request): Volume =>
  server.state.volume(params['pool'] ?? '', project, 'custom', params['name'] ?? '');

function listOf({ server: { state }, params, project, query }: Request, types: readonly Volume['type'][]): Answer {
  const pool = state.pool(params['pool'] ?? '');
  const all = state.volumes.filter(
    (volume) =>
      volume.pool === pool.name &&
      types.includes(volume.type) &&
      volume.project === (volume.type === 'custom' ? state.effective(project, 'storage.volumes') : project),
  );
  const urlOfVolume = ({ type, name }: Volume): string =>
    urlOf(`/1.0/storage-pools/${pool.name}/volumes/${type}/${name}`, project);
  return {
    kind: 'sync',
    metadata: all.map((one) => (query['recursion'] === '1' ? viewOf(state, one) : urlOfVolume(one))),
  };
}

/** Done at once, or in the background where the server is set so. */
async function perform(request: Request, work: () => void | Promise<void>): Promise<Answer> {
  const { server, effect, project } = request;
  if (server.settings.asyncVolumes) {
    const operation = { project, description: 'Storage volume', resources: {}, start: () => undefined, finish: work };
    return { kind: 'async', operation: server.operations.begin({ ...operation, undo: () => undefined }, effect) };
  }
  try {
    await work();
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal(500, error instanceof Error ? error.message : String(error));
  }
  return done;
}

/** Custom volumes; those of root disks come and go with their instances. */
export const volumeRoutes: readonly Route[] = [
  { method: 'GET', path: base, handle: (request) => listOf(request, ['custom', 'virtual-machine']) },
  { method: 'GET', path: `${base}/custom`, handle: (request) => listOf(request, ['custom']) },
  { method: 'POST', path: `${base}/custom`, handle: create },
  {
    method: 'GET',
    path: `${base}/custom/:name`,
    handle: (request) => {
      const volume = volumeOf(request);
      return { kind: 'sync', metadata: viewOf(request.server.state, volume), etag: etag(volume) };
    },
  },
  { method: 'PUT', path: `${base}/custom/:name`, handle: replace },
  { method: 'DELETE', path: `${base}/custom/:name`, handle: remove },
];

function create(request: Request): Promise<Answer> {
  const { server, params, query } = request;
  const { state, files, journal } = server;
  const pool = state.pool(params['pool'] ?? '');
  state.project(request.project);
  const { name, content_type: contentType, description, config } = parseBody(volumePost, request.body);
  if (state.findVolume(pool.name, request.project, 'custom', name) !== undefined)
    throw new Refusal(409, `Volume by that name already exists`);
  const size = volumeBytes(config?.['size']);
  if (size === undefined) throw new Refusal(400, `Invalid size ${config?.['size'] ?? ''}`);
  const volume: Volume = {
    pool: pool.name,
    project: state.effective(request.project, 'storage.volumes'),
    type: 'custom',
    name,
    contentType,
    location: state.members.size === 0 ? 'none' : (query['target'] ?? [...state.members.keys()][0] ?? 'none'),
    file: files.nextFile(),
    description,
    config: { ...config },
    size,
    writer: false,
    received: 0,
  };
  return perform(request, async () => {
    state.checkRoom(pool, size);
    state.volumes.push(volume);
    await files.create(volume);
    journal.note('volume-created', volume);
  });
}

function replace(request: Request): Promise<Answer> {
  const volume = volumeOf(request);
  const { config, description } = parseBody(volumePut, request.body);
  if (request.effect?.kind === 'etag-race') volume.config['user.race'] = String(Math.random());
  if (request.ifMatch !== undefined && request.ifMatch !== etag(volume)) throw new Refusal(412, "ETag doesn't match");
  return perform(request, () => {
    const size = volumeBytes(config?.['size']);
    // What is left out is lost, the size too.
    if (config?.['size'] !== undefined && (size ?? 0) < volume.size) throw new Error('Block volumes cannot be shrunk');
    volume.config = { ...config };
    volume.description = description;
  });
}

function remove(request: Request): Promise<Answer> {
  const { state, files, journal } = request.server;
  const volume = volumeOf(request);
  if (state.usersOf(volume).length > 0 || volume.writer) throw new Refusal(400, 'Storage volume is still in use');
  return perform(request, async () => {
    state.volumes = state.volumes.filter((known) => known !== volume);
    await files.remove(volume);
    journal.note('volume-deleted', volume);
  });
}
