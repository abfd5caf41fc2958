import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface HealthSources {
  /** What has to be true to be ready, by name. */
  readonly readiness: () => Readonly<Record<string, boolean>>;
  readonly registry: Registry;
}

/** Serves `/livez`, `/readyz` and `/metrics`. Live as long as it answers. */
export async function serveBridgeHealth(
  address: { readonly host: string; readonly port: number },
  { readiness, registry }: HealthSources,
): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const json = (code: number, body: object): void =>
      void response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    switch (request.url) {
      case '/livez':
        json(200, { live: true });
        break;
      case '/readyz': {
        const parts = readiness();
        json(Object.values(parts).every(Boolean) ? 200 : 503, parts);
        break;
      }
      case '/metrics':
        registry.metrics().then(
          (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
          () => response.writeHead(503).end(),
        );
        break;
      default:
        response.writeHead(404).end();
    }
  });
  server.listen(address.port, address.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
