import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { VCenterEndpoint, VSphereSession } from '../../../activities/vsphere/port.ts';
import { createVSphere } from '../../../activities/vsphere/vsphere-adapter.ts';
import { soapFault, wireName } from '../../sim/wire-names.ts';

export interface SeenCall {
  readonly method: string;
  readonly body: string;
  readonly headers: Readonly<IncomingHttpHeaders>;
}

/** What the scripted server does with one call. */
export type Answer =
  /** XML inside the response element, usually `<returnval>…</returnval>`. */
  | { readonly returns: string; readonly cookie?: string }
  | { readonly fault: string; readonly fields?: string }
  | { readonly status: number; readonly body?: string }
  /** The connection breaks without an answer. */
  | 'drop'
  /** No answer ever. */
  | 'hang';

export type Script = (call: SeenCall, nth: number) => Answer | Promise<Answer>;

const ref = (type: string, value: string): string => `<${value} type="${type}">${value}</${value}>`;

/** `about` and the managers; enough for a session. */
export const serviceContent = (apiType = 'VirtualCenter'): string =>
  `<returnval><rootFolder type="Folder">group-d1</rootFolder>${ref('PropertyCollector', 'propertyCollector')}` +
  `<about><name>n</name><fullName>vCenter 8</fullName><apiType>${apiType}</apiType><apiVersion>8.0.3.0</apiVersion>` +
  `<instanceUuid>u-1</instanceUuid></about>${ref('SessionManager', 'sessionManager')}` +
  `${ref('SearchIndex', 'searchIndex')}${ref('OvfManager', 'ovfManager')}${ref('ViewManager', 'viewManager')}</returnval>`;

/** Logs everybody in and answers `RetrieveServiceContent`; other methods by the given scripts. */
export interface ScriptedVCenter {
  readonly endpoint: VCenterEndpoint;
  readonly calls: SeenCall[];
  count(method: string): number;
  /** Connections made so far. */
  connections(): number;
  /** Replaces the script of a method; `nth` counts its calls from 1. */
  on(method: string, script: Script | Answer): void;
  /** Handles everything outside `/sdk`. */
  onOther(handler: (request: IncomingMessage, response: ServerResponse, body: string) => void): void;
  open(options?: { validate?: boolean }): Promise<VSphereSession>;
  close(): Promise<void>;
}

export async function startScriptedVCenter(endpoint: Partial<VCenterEndpoint> = {}): Promise<ScriptedVCenter> {
  const calls: SeenCall[] = [];
  const scripts = new Map<string, Script>();
  let logins = 0;
  let other: (request: IncomingMessage, response: ServerResponse, body: string) => void = (_, response) =>
    void response.writeHead(404).end();
  const count = (method: string): number => calls.filter((call) => call.method === method).length;

  scripts.set('RetrieveServiceContent', () => ({ returns: serviceContent() }));
  scripts.set('Login', () => ({
    returns: '<returnval><key>k</key></returnval>',
    cookie: `vmware_soap_session="session-${++logins}"; Path=/; HttpOnly; Secure`,
  }));
  scripts.set('Logout', () => ({ returns: '' }));

  const answerSoap = async (request: IncomingMessage, response: ServerResponse, body: string): Promise<void> => {
    const { method } = wireName('POST', request.url ?? '/', body);
    const call = { method, body, headers: request.headers };
    calls.push(call);
    const script = scripts.get(method);
    const answer = script === undefined ? { fault: 'NotImplemented' } : await script(call, count(method));
    if (answer === 'hang') return;
    if (answer === 'drop') return void request.socket.destroy();
    if ('status' in answer) return void response.writeHead(answer.status).end(answer.body);
    if ('fault' in answer) {
      return void response
        .writeHead(500, { 'Content-Type': 'text/xml' })
        .end(soapFault(answer.fault, { fields: answer.fields ?? '' }));
    }
    const headers: Record<string, string> = answer.cookie === undefined ? {} : { 'Set-Cookie': answer.cookie };
    response.writeHead(200, { 'Content-Type': 'text/xml', ...headers }).end(envelope(method, answer.returns));
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      if (request.url === '/sdk') void answerSoap(request, response, body);
      else other(request, response, body);
    });
  });
  let connections = 0;
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const full: VCenterEndpoint = {
    name: 'vc',
    url: `http://127.0.0.1:${port}/sdk`,
    user: 'user',
    password: 'pass-word',
    tls: { mode: 'ca' },
    allowPlainHttp: true,
    ...endpoint,
  };
  const vsphere = createVSphere({ allowInsecureTls: false });
  const opened: VSphereSession[] = [];

  return {
    endpoint: full,
    calls,
    count,
    connections: () => connections,
    on: (method, script) => scripts.set(method, typeof script === 'function' ? script : () => script),
    onOther: (handler) => {
      other = handler;
    },
    open: async ({ validate = true } = {}) => {
      const client = validate ? createVSphere({ allowInsecureTls: false, validateRequests: true }) : vsphere;
      const session = await client.open(full);
      opened.push(session);
      return session;
    },
    close: async () => {
      await Promise.all(opened.map((session) => session.close()));
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function envelope(method: string, content: string): string {
  return (
    '<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" ' +
    'xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>' +
    `<${method}Response xmlns="urn:vim25">${content}</${method}Response></soapenv:Body></soapenv:Envelope>`
  );
}

/** A RetrievePropertiesEx answer about one object. */
export function properties(object: string, props: Readonly<Record<string, string>>, missing = ''): string {
  const set = Object.entries(props).map(([name, val]) => `<propSet><name>${name}</name>${val}</propSet>`);
  return `<returnval><objects>${object}${set.join('')}${missing}</objects></returnval>`;
}
