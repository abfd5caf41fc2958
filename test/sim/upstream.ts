import { once } from 'node:events';
import * as http from 'node:http';
import * as https from 'node:https';

/** The proxy's side towards the simulator. */
export interface Upstream {
  /** Starts the request; a body that is at hand is sent with it. */
  send(request: http.IncomingMessage, body: string | undefined): http.ClientRequest;
  close(): void;
}

/** Keeps connections open; any certificate of the simulator will do. */
export function createUpstream(target: URL): Upstream {
  const isTls = target.protocol === 'https:';
  const agent = isTls
    ? new https.Agent({ keepAlive: true, rejectUnauthorized: false })
    : new http.Agent({ keepAlive: true });
  return {
    send(request, body) {
      const headers = { ...request.headers };
      delete headers.connection; // ours to decide
      const options: https.RequestOptions = {
        host: target.hostname,
        port: target.port,
        path: request.url,
        method: request.method,
        headers,
        agent,
      };
      const forwarded = (isTls ? https : http).request(options);
      forwarded.on('error', () => undefined); // seen by responseOf
      if (body !== undefined) forwarded.end(body);
      return forwarded;
    },
    close: () => agent.destroy(),
  };
}

export async function responseOf(forwarded: http.ClientRequest): Promise<http.IncomingMessage> {
  const [response] = (await once(forwarded, 'response')) as [http.IncomingMessage];
  return response;
}

export async function textOf(message: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
