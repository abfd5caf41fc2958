import { createHash } from 'node:crypto';
import * as http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Hold, holdNext } from './hold.ts';
import { listenOn } from './listener.ts';
import { matchesMethod, type Rule, type RuleHandle, RuleTable, type When } from './proxy-rules.ts';
import { callOf, type RegistryCall } from './registry-calls.ts';
import { refusals, type Refusal } from './registry-refusals.ts';
import { type RecordedRequest, RequestLog } from './request-log.ts';
import { createUpstream, responseOf } from './upstream.ts';

/** A change of what stands under a reference, as the registry confirmed it. */
export interface RegistryChange {
  readonly verb: 'PUT' | 'DELETE';
  readonly repository: string;
  /** Tag or digest. */
  readonly reference: string;
  /** Of what was put. */
  readonly digest?: string;
  readonly userAgent: string;
}

/** Stands in front of a registry and breaks what the rules say. */
export interface RegistryProxy {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Methods are `get`, `head`, `put`, `patch`, `post`, `delete` and one of `manifests`, `blobs`, `uploads`, `tags`, `base`. */
  addRule(rule: Rule): RuleHandle;
  /** Answers matching calls with a status, and a body as a registry has it; the registry never sees them. */
  refuse(when: When, status: number, code?: string): RuleHandle;
  /** Ready-made: what registries do to the calls of everybody. */
  readonly faults: ReturnType<typeof refusals>;
  hold(when: Omit<When, 'times'>, at?: 'call' | 'answer'): Hold;
  clearRules(): void;
  /** All requests, or those of one repository. */
  requests(repository?: string): readonly RecordedRequest[];
  clearRequests(): void;
  subscribe(listener: (change: RegistryChange) => void): () => void;
  down(): Promise<void>;
  up(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRegistryProxy(target: string): Promise<RegistryProxy> {
  const upstream = createUpstream(new URL(target));
  const rules = new RuleTable<Rule>(matchesMethod);
  const refused = new RuleTable<When & Refusal>(
    ({ method }, request) => method === '*' || request.method === method || request.method.startsWith(`${method} `),
  );
  const log = new RequestLog();
  const listeners = new Set<(change: RegistryChange) => void>();
  const server = http.createServer({ requestTimeout: 0 }, (request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  const listener = await listenOn(server);
  const refuse = (when: When, status: number, code = 'UNKNOWN'): RuleHandle =>
    refused.add({ times: Infinity, ...when, status, code });

  return {
    url: `http://127.0.0.1:${listener.port}`,
    addRule: (rule) => rules.add(rule),
    refuse,
    faults: refusals(refuse, (rule) => rules.add(rule)),
    hold: (when, at = 'call') => holdNext(rules, when, at),
    clearRules() {
      rules.clear();
      refused.clear();
    },
    requests: (repository) =>
      log.all().filter(({ verb, path }) => repository === undefined || callOf(verb, path).repository === repository),
    clearRequests: () => log.clear(),
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    down: () => listener.down(),
    up: () => listener.up(),
    async stop() {
      await listener.down();
      upstream.close();
    },
  };

  async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { method: verb = 'GET', url = '/' } = request;
    const call = callOf(verb, url);
    const body = await bytesOf(request);
    const record = log.open({ method: call.method, kind: 'other' }, verb, url, request.headers, '');
    record.bytes = body.length;
    response.once('close', () => log.close(record, response.headersSent ? response.statusCode : undefined));
    const [refusal] = refused.fire(record);
    if (refusal !== undefined) {
      answerRefusal(response, refusal);
      return;
    }
    const fired = rules.fire(record);
    const isGone = (): boolean => response.destroyed;
    for (const rule of fired) {
      if (rule.action === 'delay') await sleep(rule.delayMs);
      if (rule.action === 'hold' && rule.at === 'call') await rule.pass(record);
      if (rule.action === 'drop-before') request.socket.destroy();
    }
    if (isGone()) return;
    const forwarded = upstream.send(request, undefined);
    forwarded.end(body);
    const far = await responseOf(forwarded);
    tell(call, verb, body, request.headers, far.statusCode ?? 0);
    for (const rule of fired) if (rule.action === 'hold' && rule.at === 'answer') await rule.pass(record);
    if (fired.some(({ action }) => action === 'drop-after')) request.socket.destroy();
    if (isGone()) {
      far.resume();
      return;
    }
    response.writeHead(far.statusCode ?? 502, far.headers);
    far.on('error', () => response.destroy());
    far.pipe(response);
  }

  function tell(
    call: RegistryCall,
    verb: string,
    body: Buffer,
    headers: http.IncomingHttpHeaders,
    status: number,
  ): void {
    if (status >= 300 || call.part !== 'manifests' || (verb !== 'PUT' && verb !== 'DELETE')) return;
    const { repository, reference } = call;
    const digest = verb === 'PUT' ? { digest: `sha256:${createHash('sha256').update(body).digest('hex')}` } : {};
    const change = { verb, repository, reference, ...digest, userAgent: headers['user-agent'] ?? '' } as const;
    for (const listener of listeners) listener(change);
  }
}

function answerRefusal(response: http.ServerResponse, { status, code }: Refusal): void {
  const body = JSON.stringify({ errors: [{ code, message: `refused by the test with ${status}` }] });
  response.writeHead(status, { 'content-type': 'application/json', 'docker-distribution-api-version': 'registry/2.0' });
  response.end(body);
}

async function bytesOf(message: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
