import type * as http from 'node:http';
import * as https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Hold, holdNext } from './hold.ts';
import { listenOn } from './listener.ts';
import { matchesMethod, type Rule, type RuleHandle, RuleTable, type When } from './proxy-rules.ts';
import { type RecordedRequest, RequestLog } from './request-log.ts';
import { selfSigned } from './self-signed.ts';
import { createUpstream, responseOf, textOf } from './upstream.ts';

/** What a rule can do to a call besides what it can to one of vCenter. */
type Refusal = {
  readonly action: 'refuse';
  /** HTTP status of the `Status` that is answered; the API server never sees the call. */
  readonly code: number;
  readonly reason?: string;
};

/** Terminates TLS in front of a Kubernetes API and breaks what the rules say. Watches pass as they come. */
export interface ApiProxy {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  /** Its certificate, which is its own CA. */
  readonly certPem: string;
  addRule(rule: Rule): RuleHandle;
  /** Answers matching calls with an error of the API. */
  refuse(when: When, code: number, reason?: string): RuleHandle;
  /**
   * Holds the next matching call before it is passed on or, with `answer`, after the API server carried it out. A call that was
   * held is passed on though its client has given up: it comes late, as on a slow network. With `times: Infinity` the retries of
   * a client that gives up are held as well.
   */
  hold(when: When, at?: 'call' | 'answer'): Hold;
  clearRules(): void;
  /** Named as rules name them: `<verb> <plural>[/status]`. */
  requests(): readonly RecordedRequest[];
  clearRequests(): void;
  down(): Promise<void>;
  up(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts it in front of this API server. Methods of rules are `get`, `list`, `watch`, `create`, `patch`, `delete` and the plural. */
export async function startApiProxy(target: string): Promise<ApiProxy> {
  const certificate = selfSigned();
  const upstream = createUpstream(new URL(target));
  const rules = new RuleTable<Rule>(matchesMethod);
  const refusals = new RuleTable<When & Refusal>(
    (rule, request) => rule.method === '*' || rule.method === request.method,
  );
  const log = new RequestLog();
  const server = https.createServer(
    { key: certificate.keyPem, cert: certificate.certPem, requestTimeout: 0 },
    (request, response) => {
      serve(request, response).catch(() => request.socket.destroy());
    },
  );
  server.on('tlsClientError', () => undefined);
  const listener = await listenOn(server);

  return {
    url: `https://127.0.0.1:${listener.port}`,
    certPem: certificate.certPem,
    addRule: (rule) => rules.add(rule),
    refuse: (when, code, reason) =>
      refusals.add({
        times: Infinity,
        ...when,
        action: 'refuse',
        code,
        ...(reason === undefined ? {} : { reason }),
      }),
    hold: (when, at = 'call') => holdNext(rules, when, at),
    clearRules() {
      rules.clear();
      refusals.clear();
    },
    requests: () => log.all(),
    clearRequests: () => log.clear(),
    down: () => listener.down(),
    up: () => listener.up(),
    async stop() {
      await listener.down();
      upstream.close();
    },
  };

  async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { method: verb = 'GET', url = '/' } = request;
    const body = await textOf(request);
    const record = log.open({ method: apiVerb(verb, url), kind: 'other' }, verb, url, request.headers, body);
    response.once('close', () => log.close(record, response.headersSent ? response.statusCode : undefined));
    const [refusal] = refusals.fire(record);
    if (refusal !== undefined) {
      refuse(response, refusal);
      return;
    }
    const fired = rules.fire(record);
    for (const rule of fired) {
      if (rule.action === 'delay') await sleep(rule.delayMs);
      if (rule.action === 'hold' && rule.at === 'call') await rule.pass(record);
      if (rule.action === 'drop-before') request.socket.destroy();
    }
    const isLate = fired.some(({ action }) => action === 'hold');
    if (response.destroyed && !isLate) return;
    const forwarded = upstream.send(request, body);
    const isDropped = fired.some(({ action }) => action === 'drop-after');
    if (!isDropped) response.once('close', () => forwarded.destroy());
    const far = await responseOf(forwarded);
    for (const rule of fired) if (rule.action === 'hold' && rule.at === 'answer') await rule.pass(record);
    if (isDropped) {
      request.socket.destroy();
      return;
    }
    if (response.destroyed) {
      far.resume();
      return;
    }
    response.writeHead(far.statusCode ?? 502, far.headers);
    far.on('error', () => response.destroy());
    far.pipe(response);
  }
}

function refuse(response: http.ServerResponse, { code, reason = 'Forbidden' }: Refusal): void {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: `refused by the test with ${code}`,
    reason,
    code,
  };
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(status));
}

/** `patch virtualmachineoperations/status` */
function apiVerb(method: string, url: string): string {
  const { pathname, searchParams } = new URL(url, 'https://api');
  const parts = pathname.split('/').filter((part) => part !== '');
  // /apis/<group>/<version>/… or /api/<version>/…, then namespaces/<ns>/ or not.
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
  const [plural = '', name, subresource] = rest[0] === 'namespaces' && rest.length > 2 ? rest.slice(2) : rest;
  const verbs: Readonly<Record<string, string>> = { POST: 'create', PATCH: 'patch', PUT: 'update', DELETE: 'delete' };
  const reading = searchParams.get('watch') === null ? (name === undefined ? 'list' : 'get') : 'watch';
  const verb = verbs[method] ?? reading;
  return `${verb} ${plural}${subresource === undefined ? '' : `/${subresource}`}`;
}
