import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A span as a collector sees it. */
export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: the first one of its trace. */
  readonly parentSpanId?: string;
  readonly name: string;
  /** 1 internal, 3 client. */
  readonly kind: number;
  readonly status: { readonly code?: number };
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, 'service' | 'attributes'> & {
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}

/** A collector of OTLP over HTTP in JSON that keeps what it gets. */
export class OtlpReceiver {
  readonly url: string;
  /** Bodies as they came. */
  readonly bodies: string[] = [];
  readonly #close: () => void;

  private constructor(url: string, close: () => void) {
    this.url = url;
    this.#close = close;
  }

  static async start(): Promise<OtlpReceiver> {
    const server = createServer((request, response) => {
      receiver.#take(request).then(
        (status) => response.writeHead(status, { 'content-type': 'application/json' }).end('{}'),
        () => response.writeHead(400).end(),
      );
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const receiver = new OtlpReceiver(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => {
      server.close();
      server.closeAllConnections();
    });
    return receiver;
  }

  get spans(): readonly ReceivedSpan[] {
    return this.bodies
      .flatMap((body) => (JSON.parse(body) as Export).resourceSpans)
      .flatMap(({ resource, scopeSpans }) => {
        const service = String(plain(resource.attributes)['service.name']);
        return scopeSpans.flatMap(({ spans }) =>
          spans.map((span) => ({ ...span, service, attributes: plain(span.attributes) })),
        );
      });
  }

  stop(): void {
    this.#close();
  }

  async #take(request: IncomingMessage): Promise<number> {
    if (request.method !== 'POST' || request.url !== '/v1/traces') return 404;
    this.bodies.push(await text(request));
    return 200;
  }
}

function plain(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
