import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { causeOf } from '../../activities/kubernetes/classify.ts';
import type { WorkerLog } from '../log.ts';
import type { Admission } from './admission.ts';
import type { AdmissionDesk } from './admission-desk.ts';
import { parseReview, reviewAnswer, type Review } from './review.ts';
import type { KeyAndCertificate } from './x509.ts';

export interface WebhookServer {
  readonly port: number;
  /** New connections are served with this; those that exist go on. */
  use(certificate: KeyAndCertificate): void;
  /** From now on each answer is the last one of its connection: the next request goes to whoever is there then. */
  drain(): void;
  /** Answers what is under way, then ends. */
  close(): Promise<void>;
}

export interface WebhookOptions {
  readonly address: { readonly host: string; readonly port: number };
  readonly certificate: KeyAndCertificate;
  readonly desk: AdmissionDesk;
  /** How long the API server waits where it doesn't say so itself. */
  readonly timeoutMs: number;
  /** Told of every answer that was given. */
  readonly onAnswer?: (review: Review, answer: Admission) => void;
  readonly log: Pick<WorkerLog, 'warn' | 'debug'>;
}

/** Objects are limited to 1.5 MB in the store; a review carries two of them at most. */
const longestBody = 4_000_000;

/** Part of the API server's patience that we use: an error of ours says more than its time-out. */
const ourShare = 0.75;

/** Serves `POST /admit` over TLS. */
export async function serveWebhook(options: WebhookOptions): Promise<WebhookServer> {
  const { address, certificate } = options;
  let isDraining = false;
  const server = createServer(tlsOf(certificate), (request, response) => {
    if (isDraining) response.setHeader('connection', 'close');
    answer(options, request, response).catch((error: unknown) => {
      options.log.warn({ error: causeOf(error) }, 'A request to the webhook failed');
      response.destroy();
    });
  });
  server.on('tlsClientError', (error) =>
    options.log.debug({ error: causeOf(error) }, 'A TLS handshake of the webhook failed'),
  );
  server.listen(address.port, address.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    use: (next) => server.setSecureContext(tlsOf(next)),
    drain: () => (isDraining = true),
    close: () => closed(server),
  };
}

function tlsOf({ keyPem, certPem }: KeyAndCertificate) {
  return { key: keyPem, cert: certPem, minVersion: 'TLSv1.2' } as const;
}

async function answer(options: WebhookOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'https://bridge');
  if (request.method !== 'POST' || url.pathname !== '/admit') {
    respond(response, 404, 'text/plain', 'POST /admit is all there is here');
    return;
  }
  const deadlineMs = patienceOf(url, options.timeoutMs) * ourShare;
  let review: Review;
  try {
    review = parseReview(await textOf(request));
  } catch (error) {
    respond(response, 400, 'text/plain', causeOf(error));
    return;
  }
  try {
    const verdict = await options.desk(review, deadlineMs);
    options.onAnswer?.(review, verdict);
    respond(response, 200, 'application/json', JSON.stringify(reviewAnswer(review.uid, verdict)));
  } catch (error) {
    // No answer of a webhook but an error: the API server refuses with 500, which is tried again, and not with 403, which is not.
    options.log.warn({ namespace: review.namespace, name: review.name, error: causeOf(error) }, 'An admission failed');
    respond(response, 500, 'text/plain', `vmflow can't tell whether this operation may be created: ${causeOf(error)}`);
  }
}

/** The API server says how long it waits: `?timeout=2s`. */
function patienceOf(url: URL, defaultMs: number): number {
  const [, seconds] = /^(\d+)s$/.exec(url.searchParams.get('timeout') ?? '') ?? [];
  return seconds === undefined ? defaultMs : Number(seconds) * 1_000;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > longestBody) throw new Error(`The request is longer than ${longestBody} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function respond(response: ServerResponse, code: number, contentType: string, body: string): void {
  response.writeHead(code, { 'content-type': contentType }).end(body);
}

async function closed(server: Server): Promise<void> {
  server.close();
  server.closeIdleConnections();
  await once(server, 'close');
}
