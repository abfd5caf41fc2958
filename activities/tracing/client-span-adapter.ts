import { SpanKind, SpanStatusCode, trace, type Attributes, type Span } from '@opentelemetry/api';

/** A call of a far side, as OpenTelemetry's conventions describe it. No query, no header and no body gets into it. */
export interface FarCall {
  /** What is called, with few different values: `vim25/FindChild`, `GET`. */
  readonly name: string;
  readonly server: string | URL;
  readonly attributes: Attributes;
}

/**
 * Runs a call as a span of whatever it is made for. Without tracing, and outside of any span, it is only run: looks that nobody
 * asked for (watches, renewals) make no traces of their own.
 * @param statusOf the HTTP status of the answer
 */
export async function inClientSpan<T>(
  { name, server, attributes }: FarCall,
  run: () => Promise<T>,
  statusOf: (answer: T) => number,
): Promise<T> {
  if (trace.getActiveSpan() === undefined) return await run();
  const { hostname, protocol, port: given } = new URL(server);
  const port = Number(given) || (protocol === 'http:' ? 80 : 443);
  const all = { 'server.address': hostname, 'server.port': port, ...attributes };
  return await trace
    .getTracer('vmflow')
    .startActiveSpan(name, { kind: SpanKind.CLIENT, attributes: all }, async (span) => {
      try {
        const answer = await run();
        const status = statusOf(answer);
        span.setAttribute('http.response.status_code', status);
        if (status >= 400) failed(span, String(status));
        return answer;
      } catch (error) {
        failed(span, error instanceof Error ? codeOf(error) : 'unknown');
        throw error;
      } finally {
        span.end();
      }
    });
}

/** An HTTP request in these terms. @param path shown without its query */
export function httpCall(method: string, server: string | URL, path?: string): FarCall {
  const route = path === undefined ? {} : { 'url.path': path.replace(/[?#].*$/s, '') };
  return { name: method, server, attributes: { 'http.request.method': method, ...route } };
}

/** Without its message: that may repeat what was sent. */
function failed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function codeOf(error: Error): string {
  if ('code' in error && typeof error.code === 'string') return error.code;
  return 'reason' in error && typeof error.reason === 'string' ? error.reason : error.name;
}
