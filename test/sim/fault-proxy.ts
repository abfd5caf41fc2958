import { once } from 'node:events';
import type * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { matchesUpload, type NfcRule } from './nfc-rules.ts';
import { relayUpload } from './nfc-relay.ts';
import { matchesMethod, type Rule, type RuleHandle, RuleTable, type When } from './proxy-rules.ts';
import { type OpenRequest, type RecordedRequest, RequestLog } from './request-log.ts';
import { type Hold, holdNext } from './hold.ts';
import { selfSigned } from './self-signed.ts';
import { createUpstream, responseOf, textOf } from './upstream.ts';
import { soapFault, wireName } from './wire-names.ts';

export interface FaultProxyOptions {
  /** SOAP endpoint to stand in front of, e.g. `https://127.0.0.1:40907/sdk`. */
  readonly target: string;
  /** Leave device URLs in answers alone, so that uploads go past the proxy. */
  readonly keepDeviceUrls?: boolean;
}

/**
 * Terminates TLS in front of a vCenter simulator and breaks what the rules say, nothing else. Everything that passes is
 * recorded.
 */
export interface FaultProxy {
  /** SOAP endpoint of the proxy. */
  readonly url: string;
  /** `https://127.0.0.1:<port>` */
  readonly origin: string;
  /** Its certificate, which is its own CA, and the thumbprints. */
  readonly certPem: string;
  readonly sha256: string;
  readonly sha1: string;
  addRule(rule: Rule): RuleHandle;
  addNfcRule(rule: NfcRule): RuleHandle;
  clearRules(): void;
  /** Changes the text of answers; for ever unless `times` says otherwise. */
  rewrite(when: string | When, rewrite: (answer: string, request: RecordedRequest) => string): RuleHandle;
  /** Holds the next matching call before it is passed on or, with `answer`, after the simulator carried it out. */
  hold(when: string | Omit<When, 'times'>, at?: 'call' | 'answer'): Hold;
  readonly requests: () => readonly RecordedRequest[];
  /** Requests that could change something, in order. */
  readonly mutating: () => readonly RecordedRequest[];
  clearRequests(): void;
  /** Connections are refused and open ones broken, until `up`. */
  down(): Promise<void>;
  up(): Promise<void>;
  stop(): Promise<void>;
}

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const certificate = selfSigned();
  const target = new URL(options.target);
  const log = new RequestLog();
  const rules = new RuleTable<Rule>(matchesMethod);
  const nfcRules = new RuleTable<NfcRule>(matchesUpload);
  const upstream = createUpstream(target);

  const server = https.createServer(
    { key: certificate.keyPem, cert: certificate.certPem, requestTimeout: 0, keepAliveTimeout: 60_000 },
    (request, response) => {
      serve(request, response).catch(() => request.socket.destroy()); // what the client sees when the far side goes away
    },
  );
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined); // clients that refuse our certificate are part of the tests
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  };
  const port = await listen(0);
  const origin = `https://127.0.0.1:${port}`;
  const rewriteDeviceUrls = (answer: string): string =>
    options.keepDeviceUrls ? answer : answer.replaceAll(`${target.origin}/nfc/`, `${origin}/nfc/`);

  return {
    url: `${origin}${target.pathname}`,
    origin,
    certPem: certificate.certPem,
    sha256: certificate.sha256,
    sha1: certificate.sha1,
    addRule: (rule) => rules.add(rule),
    addNfcRule: (rule) => nfcRules.add(rule),
    clearRules() {
      rules.clear();
      nfcRules.clear();
    },
    rewrite: (when, rewrite) => rules.add({ times: Infinity, ...asWhen(when), action: 'rewrite', rewrite }),
    hold: (when, at = 'call') => holdNext(rules, asWhen(when), at),
    requests: () => log.all(),
    mutating: () => log.mutating(),
    clearRequests: () => log.clear(),
    down: close,
    async up() {
      if (!server.listening) await listen(port);
    },
    async stop() {
      await close();
      upstream.close();
    },
  };

  async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { method: verb = 'GET', url = '/' } = request;
    const isUpload = url.startsWith('/nfc/') && (verb === 'PUT' || verb === 'POST');
    const body = isUpload || url.startsWith('/folder/') ? undefined : await textOf(request);
    const record = log.open(wireName(verb, url, body ?? ''), verb, url, request.headers, body ?? '');
    response.once('close', () => log.close(record, response.headersSent ? response.statusCode : undefined));
    const fired = rules.fire(record);
    if (await disturbCall(fired, record, response)) return;
    const forwarded = upstream.send(request, body);
    const abandon = (): void => void forwarded.destroy();
    if (!fired.some(({ action }) => action === 'drop-after')) response.once('close', abandon);
    if (body === undefined) await stream(request, response, forwarded, isUpload ? nfcRules.fire(record) : [], record);
    else await answer(forwarded, response, fired, record);
    response.off('close', abandon);
  }

  /** Passes an upload or a datastore file on as it comes. */
  async function stream(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    forwarded: http.ClientRequest,
    fired: readonly NfcRule[],
    record: OpenRequest,
  ): Promise<void> {
    const arrived = responseOf(forwarded);
    arrived.catch(() => undefined); // asked for below, if the upload gets that far
    const end = await relayUpload(request, response, forwarded, fired, record, () => reset(request));
    if (!end.passedOn) {
      forwarded.destroy();
      if (end.status !== undefined) await refuse(response, end.status);
      return;
    }
    const far = await arrived;
    response.writeHead(far.statusCode ?? 502, far.headers);
    far.pipe(response);
    await once(far, 'end');
  }

  /** A TLS socket can't send a reset, the one below it can. */
  function reset(request: http.IncomingMessage): void {
    const below = [...sockets].find(({ remotePort }) => remotePort === request.socket.remotePort);
    below?.resetAndDestroy();
  }

  async function answer(
    forwarded: http.ClientRequest,
    response: http.ServerResponse,
    fired: readonly Rule[],
    record: RecordedRequest,
  ): Promise<void> {
    const far = await responseOf(forwarded);
    const original = await textOf(far);
    const text = fired.reduce(
      (current, rule) => (rule.action === 'rewrite' ? rule.rewrite(current, record) : current),
      rewriteDeviceUrls(original),
    );
    for (const rule of fired) if (rule.action === 'hold' && rule.at === 'answer') await rule.pass(record);
    if (fired.some(({ action }) => action === 'drop-after')) {
      response.destroy();
      return;
    }
    const headers = { ...far.headers, 'content-length': Buffer.byteLength(text) };
    delete headers['transfer-encoding'];
    response.writeHead(far.statusCode ?? 502, headers);
    if (fired.some(({ action }) => action === 'truncate')) await sendHalf(response, text);
    else response.end(text);
  }
}

/** True when the call goes no further. */
async function disturbCall(
  fired: readonly Rule[],
  record: RecordedRequest,
  response: http.ServerResponse,
): Promise<boolean> {
  for (const rule of fired) {
    switch (rule.action) {
      case 'delay':
        await sleep(rule.delayMs);
        break;
      case 'hold':
        if (rule.at === 'call') await rule.pass(record);
        break;
      case 'fault':
        send(response, 500, soapFault(rule.fault, rule));
        return true;
      case 'http-503':
        send(response, rule.status ?? 503, '');
        return true;
      case 'drop-before':
        response.destroy();
        return true;
      case 'drop-after':
      case 'truncate':
      case 'rewrite':
        break;
      default:
        throw new Error(`unknown action ${JSON.stringify(rule satisfies never)}`);
    }
  }
  return response.destroyed; // the client gave up while it waited here: the network lost its call
}

function send(response: http.ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/xml; charset=utf-8', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

async function sendHalf(response: http.ServerResponse, text: string): Promise<void> {
  await new Promise<void>((resolve) => response.write(text.slice(0, text.length / 2), () => resolve()));
  response.destroy();
}

/** Answers an upload whose body is still coming; as with good servers the connection is the client's to close. */
async function refuse(response: http.ServerResponse, status: number): Promise<void> {
  response.writeHead(status, { 'content-length': 0 });
  response.end();
  await once(response, 'close');
}

function asWhen<W extends { readonly method: string }>(when: string | W): W | { readonly method: string } {
  return typeof when === 'string' ? { method: when } : when;
}
