import type { Agent, IncomingHttpHeaders } from 'node:http';
import { readFile } from 'node:fs/promises';

import { Client, HttpClient, WSDL } from 'soap';

import { inClientSpan } from '../tracing/client-span-adapter.ts';
import type { Channel, ChannelAnswer, ChannelCall } from './channel.ts';
import { decodeSoapFault } from './fault-decode.ts';
import { VSphereError } from './faults.ts';
import { exchange, httpError } from './http-exchange.ts';
import type { VSphereLog } from './log.ts';
import { silent } from './log.ts';
import { createPool } from './pool.ts';
import type { MoRef, VSphere } from './port.ts';
import { describeRef } from './session-core.ts';
import type { Trust } from './tls.ts';
import { agentFor } from './tls.ts';
import { decodeReturn } from './vim25/decode.ts';
import type { SoapNode } from './vim25/encode.ts';
import { encodeArgs } from './vim25/encode.ts';
import type { Method } from './vim25/table.ts';
import { operations } from './vim25/table.ts';
import { validateRequest } from './vim25/validate.ts';
import { wsdlText } from './vim25/wsdl.ts';

const sockets = {
  /** Reads are short: a few connections carry hundreds of parallel calls. */
  quick: 8,
  /** Calls that may be held by the server for long: waits, and tasks queued behind another one. */
  slow: 64,
} as const;

/** Calls that the server may hold back must not take the connections of the short ones. */
const quickMethods: ReadonlySet<Method> = new Set<Method>([
  'RetrieveServiceContent',
  'FindByInventoryPath',
  'FindChild',
  'FindByUuid',
  'RetrievePropertiesEx',
  'ContinueRetrievePropertiesEx',
]);

/** What one call hands through node-soap to the HTTP client below. */
interface CallContext {
  readonly call: ChannelCall;
  readonly agent: Agent;
  seen?: { readonly status: number; readonly headers: IncomingHttpHeaders };
}

type SoapCallback = (error: unknown, response?: unknown, body?: string) => void;

/** node-soap's HTTP client replaced: our agents, time-outs, abort, one cookie per call and each answer's own headers. */
class SoapHttp extends HttpClient {
  // node-soap types the result as an axios promise and never looks at it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  override request(url: string, data: string, callback: SoapCallback, headers: unknown, options: unknown): any {
    const { context } = options as { context: CallContext };
    void post(new URL(url), data, headers as Record<string, string>, context).then(
      (response) => callback(null, response, response.data),
      (error: unknown) => callback(error),
    );
    return undefined;
  }
}

async function post(
  url: URL,
  data: string,
  headers: Readonly<Record<string, string>>,
  context: CallContext,
): Promise<{ status: number; headers: IncomingHttpHeaders; data: string }> {
  const { call, agent } = context;
  const { method, signal, timeoutMs, cookie } = call;
  const all = { ...headers, 'User-Agent': 'vmflow', ...(cookie === undefined ? {} : { Cookie: cookie }) };
  const request = { method: 'POST', url, headers: all, body: data, agent, signal, timeoutMs, what: method } as const;
  const attributes = { 'rpc.system': 'soap', 'rpc.service': 'vim25', 'rpc.method': method };
  const span = { name: `vim25/${method}`, server: url, attributes };
  const response = await inClientSpan(span, () => exchange(request), statusOf);
  context.seen = response;
  // A fault comes with status 500; any other status is not the API's answer.
  if (response.status !== 200 && response.status !== 500) throw httpError(method, url.host, response.status);
  return { status: response.status, headers: response.headers, data: response.body };
}

const statusOf = ({ status }: { readonly status: number }): number => status;

let wsdl: Promise<WSDL> | undefined;

/** The subset's WSDL, parsed once per process. */
function loadWsdl(): Promise<WSDL> {
  wsdl ??= new Promise((resolve, reject) => {
    const parsed = new WSDL(wsdlText(), 'vim25', {});
    parsed.onReady((error: unknown) => {
      if (error instanceof Error) reject(error);
      else resolve(parsed);
    });
  });
  return wsdl;
}

function sessionCookie(headers: IncomingHttpHeaders | undefined): string | undefined {
  return headers?.['set-cookie']
    ?.map((line) => line.split(';', 1)[0] ?? '')
    .find((pair) => pair.startsWith('vmware_soap_session='));
}

function rootOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'root' in error ? error.root : undefined;
}

/** Aborts and transport errors pass; a fault is decoded; anything else is an answer that we can't read. */
function toCallError(error: unknown, { call, seen }: CallContext, host: string): Error {
  if (error instanceof Error && (seen === undefined || error instanceof VSphereError)) return error;
  const self = call.args['_this'] as MoRef | undefined;
  const fault = decodeSoapFault(rootOf(error), call.method, self === undefined ? undefined : describeRef(self));
  if (fault !== undefined) return fault;
  if (seen?.status === 500) return httpError(call.method, host, seen.status);
  const message = `${call.method}: the answer of ${host} could not be read as SOAP.`;
  return new VSphereError('PROTOCOL', message, { kind: 'transport', method: call.method, message }, { cause: error });
}

function requestArgs(call: ChannelCall, validate: boolean): SoapNode {
  if (call.rawXml !== undefined) return { _xml: call.rawXml };
  const args = encodeArgs(call.method, call.args);
  const problems = validate ? validateRequest(call.method, args) : [];
  if (problems.length === 0) return args;
  const message = `The request does not fit the schema: ${problems.join('; ')}.`;
  throw new VSphereError('PROTOCOL', message, { kind: 'transport', method: call.method, message });
}

type SoapMethod = (
  args: unknown,
  done: (error: unknown, result: unknown, body: unknown) => void,
  options: unknown,
) => void;

async function openChannel(url: URL, trust: Trust, validate: boolean): Promise<Channel> {
  const client = new Client(await loadWsdl(), url.href, { httpClient: new SoapHttp(), preserveWhitespace: true });
  client.setSOAPAction('urn:vim25/6.5');
  const quick = agentFor(url, trust, { maxSockets: sockets.quick, keepAlive: true });
  const slow = agentFor(url, trust, { maxSockets: sockets.slow, keepAlive: true });

  const call = (request: ChannelCall): Promise<ChannelAnswer> =>
    new Promise((resolve, reject) => {
      const { method } = request;
      const context: CallContext = { call: request, agent: quickMethods.has(method) ? quick : slow };
      const send = client[method] as SoapMethod;
      send(
        requestArgs(request, validate),
        (error, result, body) => {
          if (error !== null && error !== undefined) {
            reject(toCallError(error, context, url.host));
            return;
          }
          const { returns } = operations[method] as { returns?: string };
          resolve({
            value: decodeReturn(returns, result),
            body: typeof body === 'string' ? body : '',
            cookie: sessionCookie(context.seen?.headers),
          });
        },
        { context },
      );
    });

  return {
    call,
    speak: (apiVersion) => client.setSOAPAction(`urn:vim25/${apiVersion}`),
    close: () => {
      quick.destroy();
      slow.destroy();
    },
  };
}

export interface VSphereOptions {
  /** The worker's own consent to `tls.mode: insecure`. */
  readonly allowInsecureTls: boolean;
  readonly log?: VSphereLog;
  /** Checks every request against the schema before it is sent. For tests and development. */
  readonly validateRequests?: boolean;
}

/** The vSphere client: SOAP sessions pooled per vCenter, uploads and tags beside them. */
export function createVSphere(options: VSphereOptions): VSphere {
  const { allowInsecureTls, log = silent, validateRequests = false } = options;
  return createPool({
    allowInsecureTls,
    log,
    readFile: (path) => readFile(path, 'utf8'),
    openChannel: (url, trust) => openChannel(url, trust, validateRequests),
  });
}
