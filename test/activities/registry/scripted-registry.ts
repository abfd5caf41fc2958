import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Scripted {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  /** Ends the connection after half of the body. */
  readonly half?: boolean;
}

/** What to answer; undefined: nothing, ever. */
export type Script = (request: IncomingMessage) => Scripted | undefined;

export interface ScriptedRegistry {
  readonly url: string;
  /** From now on it answers like this. */
  play(script: Script): void;
  /** `<method> <path>` of each request, oldest first. */
  readonly requests: () => readonly string[];
  /** Header of the last request. */
  header(name: string): string | undefined;
  stop(): Promise<void>;
}

/** For what a real registry can't be made to do. */
export async function startScriptedRegistry(): Promise<ScriptedRegistry> {
  let script: Script = () => ({ status: 500 });
  let last: IncomingMessage | undefined;
  const requests: string[] = [];
  const server = createServer((request, response) => {
    last = request;
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    const answer = script(request);
    if (answer !== undefined) send(response, answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    play(next) {
      script = next;
      requests.length = 0;
    },
    requests: () => requests,
    header(name) {
      const value = last?.headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function send(response: ServerResponse, { status, headers = {}, body = '', half = false }: Scripted): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.writeHead(status, { 'content-length': Buffer.byteLength(body) });
  if (half) response.write(body.slice(0, body.length / 2), () => response.destroy());
  else response.end(body);
}

/** The body of a refusal. */
export function errors(...codes: readonly string[]): string {
  return JSON.stringify({ errors: codes.map((code) => ({ code, message: `${code.toLowerCase()} message` })) });
}
