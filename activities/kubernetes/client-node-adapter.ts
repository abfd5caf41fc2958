import {
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  KubeConfig,
  RequestContext,
  Watch,
  type ResponseContext,
} from '@kubernetes/client-node';
import { httpCall, inClientSpan } from '../tracing/client-span-adapter.ts';
import { causeOf } from './classify.ts';
import { clusterOver } from './cluster.ts';
import { silent, type ClusterLog } from './log.ts';
import type { Cluster } from './port.ts';
import { WatchRefused, type ApiAnswer, type ApiRequest, type Transport, type WatchEvent } from './transport.ts';

export interface ClusterOptions {
  /** Path of a kubeconfig. Without it: the service account of the Pod that this runs in. */
  readonly kubeconfig?: string;
  /** Each request gets an answer within this time or fails. Default 10,000. */
  readonly requestTimeoutMs?: number;
  /** How a quiet watch shows that the API server lives: the server ends it after this time and it is begun again. Default 20. */
  readonly watchSeconds?: number;
  /** How we call ourselves in the API server's audit log. */
  readonly userAgent?: string;
  readonly log?: ClusterLog;
}

const defaults = {
  requestTimeoutMs: 10_000,
  watchSeconds: 20,
  userAgent: 'vmflow',
  /** How much later than promised the end of a watch may come before the server counts as frozen. */
  watchGraceMs: 3_000,
} as const;

/** Connects to a cluster; nothing is sent before the first call. Fails when the kubeconfig can't be used. */
export function createCluster(options: ClusterOptions = {}): Cluster {
  return clusterOver(clientNodeTransport(options), options.log ?? silent);
}

/** client-node makes a connection pool for every request; here all share one, which is left after a failure. */
class SharedConnections extends KubeConfig {
  readonly #userAgent: string;
  #pool: ReturnType<RequestContext['getDispatcher']>;

  constructor(userAgent: string) {
    super();
    this.#userAgent = userAgent;
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    context.setHeaderParam('User-Agent', this.#userAgent);
    this.#pool ??= context.getDispatcher();
    if (this.#pool !== undefined) context.setDispatcher(this.#pool);
  }

  /** Later requests open new connections: those of this one may lead nowhere. */
  leave(context: RequestContext): void {
    const pool = context.getDispatcher();
    if (pool !== this.#pool) return;
    this.#pool = undefined;
    void pool?.close().catch(() => undefined); // what else is under way on it ends by its own deadline
  }

  async destroy(): Promise<void> {
    await this.#pool?.destroy();
  }
}

function clientNodeTransport(options: ClusterOptions): Transport {
  const requestTimeoutMs = options.requestTimeoutMs ?? defaults.requestTimeoutMs;
  const watchSeconds = options.watchSeconds ?? defaults.watchSeconds;
  const config = load(options);
  const server = config.getCurrentCluster()?.server ?? '';
  const http = new IsomorphicFetchHttpLibrary();

  async function sendOnce(request: ApiRequest): Promise<ApiAnswer> {
    const context = contextOf(server, request);
    context.setSignal(AbortSignal.timeout(requestTimeoutMs));
    try {
      await config.applySecurityAuthentication(context);
      return await answerOf(await http.send(context).toPromise());
    } catch (error) {
      config.leave(context);
      throw error;
    }
  }

  return {
    send: (request) =>
      inClientSpan(
        httpCall(request.method, server, request.path),
        () => sendOnce(request),
        ({ status }) => status,
      ),

    async watch(path, onEvent, signal) {
      const silence = new AbortController();
      const timer = setTimeout(
        () => silence.abort(new Error(`nothing came, not even the end after ${watchSeconds} s`)),
        watchSeconds * 1_000 + defaults.watchGraceMs,
      );
      try {
        await readWatch(
          new Watch(config),
          withTimeout(path, watchSeconds),
          (event) => {
            timer.refresh();
            onEvent(event);
          },
          AbortSignal.any([signal, silence.signal]),
        );
      } finally {
        clearTimeout(timer);
      }
    },

    close: () => config.destroy(),
  };
}

function load({ kubeconfig, userAgent }: ClusterOptions): SharedConnections {
  const config = new SharedConnections(userAgent ?? defaults.userAgent);
  try {
    if (kubeconfig === undefined) config.loadFromCluster();
    else config.loadFromFile(kubeconfig);
  } catch (error) {
    const where = kubeconfig === undefined ? 'the service account of this Pod' : `the kubeconfig ${kubeconfig}`;
    throw new Error(`Access to the cluster could not be read from ${where}: ${causeOf(error)}.`, { cause: error });
  }
  if (config.getCurrentCluster() === null)
    throw new Error(
      `The kubeconfig ${kubeconfig ?? ''} names no cluster for its current context: correct current-context.`,
    );
  return config;
}

function contextOf(server: string, { method, path, body, contentType }: ApiRequest): RequestContext {
  const context = new RequestContext(`${server}${path}`, HttpMethod[method]);
  context.setHeaderParam('Accept', 'application/json');
  if (body !== undefined) {
    context.setHeaderParam('Content-Type', contentType ?? 'application/json');
    context.setBody(JSON.stringify(body));
  }
  return context;
}

async function answerOf(response: ResponseContext): Promise<ApiAnswer> {
  const retryAfterS = Number(response.headers['retry-after']);
  return {
    status: response.httpStatusCode,
    text: await response.body.text(),
    ...(retryAfterS > 0 ? { retryAfterS } : {}),
  };
}

interface WatchTarget {
  readonly route: string;
  readonly parameters: Record<string, string | number>;
}

function withTimeout(path: string, timeoutSeconds: number): WatchTarget {
  const [route = path, query] = path.split('?');
  return { route, parameters: { ...Object.fromEntries(new URLSearchParams(query)), timeoutSeconds } };
}

/** Resolves when the server ends the watch; fails when it is lost, or with the signal's reason. */
function readWatch(
  watch: Watch,
  { route, parameters }: WatchTarget,
  onEvent: (event: WatchEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    const onObject = (type: string, object: unknown): void => {
      if (!signal.aborted) onEvent({ type, object });
    };
    const onDone = (error: unknown): void => {
      if (error === null || error === undefined) resolve();
      else reject(refusalOf(error));
    };
    watch.watch(route, parameters, onObject, onDone).then((connection) => {
      if (signal.aborted) connection.abort();
      else signal.addEventListener('abort', () => connection.abort(), { once: true });
    }, reject);
  });
}

function refusalOf(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('the watch was lost', { cause: error });
  return 'statusCode' in error ? new WatchRefused(Number(error.statusCode)) : error;
}
