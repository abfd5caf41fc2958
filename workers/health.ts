import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import type { WorkerStatus } from '@temporalio/worker';

export interface Health {
  readonly port: number;
  close(): Promise<void>;
}

interface HealthSources {
  status(): WorkerStatus;
  /** Where the SDK serves its metrics on loopback. */
  readonly metricsPort: number;
}

/** Live unless the worker has ended; ready while it polls. */
function answers(sources: HealthSources, path: string | undefined): { code: number; body: string } | undefined {
  const { runState, workflowPollerState, activityPollerState } = sources.status();
  const polls = workflowPollerState === 'POLLING' || activityPollerState === 'POLLING';
  const body = JSON.stringify({ runState, workflowPollerState, activityPollerState });
  if (path === '/livez') return { code: runState === 'FAILED' || runState === 'STOPPED' ? 503 : 200, body };
  if (path === '/readyz') return { code: runState === 'RUNNING' && polls ? 200 : 503, body };
  return undefined;
}

/** Serves `/livez`, `/readyz` and `/metrics`. */
export async function serveHealth(address: { host: string; port: number }, sources: HealthSources): Promise<Health> {
  const server = createServer((req, res) => {
    const answer = answers(sources, req.url);
    if (answer !== undefined) {
      res.writeHead(answer.code, { 'content-type': 'application/json' }).end(answer.body);
      return;
    }
    if (req.url !== '/metrics') {
      res.writeHead(404).end();
      return;
    }
    metrics(sources.metricsPort).then(
      (text) => res.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(text),
      () => res.writeHead(503).end(),
    );
  });
  server.listen(address.port, address.host);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => closed(server) };
}

async function metrics(port: number): Promise<string> {
  const { body } = await request(`http://127.0.0.1:${port}/metrics`);
  return await body.text();
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
