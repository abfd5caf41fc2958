import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { httpCall, inClientSpan } from '../../../activities/tracing/client-span-adapter.ts';
import { AsyncContexts } from '../../../activities/tracing/context-adapter.ts';
import { SafeExporter } from '../../../activities/tracing/safe-exporter-adapter.ts';
import { isTracingWanted } from '../../../activities/tracing/wanted.ts';

describe('tracing is wanted', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
  for (const [env, wanted] of [
    [{}, false],
    [{ OTEL_SERVICE_NAME: 'x' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
    [endpoint, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, true],
    [{ ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }, false],
    [{ ...endpoint, OTEL_SDK_DISABLED: 'false' }, true],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, false],
  ] as const)
    test(`${wanted ? 'with' : 'not with'} ${JSON.stringify(env)}`, () => assert.equal(isTracingWanted(env), wanted));
});

describe('spans of calls of far sides', () => {
  const kept = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(new SafeExporter(kept))] });
  provider.register({ contextManager: new AsyncContexts() });
  after(() => {
    trace.disable();
    context.disable();
  });

  async function spansOf(run: () => Promise<unknown>): Promise<ReturnType<InMemorySpanExporter['getFinishedSpans']>> {
    kept.reset();
    await trace.getTracer('test').startActiveSpan('outer', async (span) => {
      await run().catch(() => undefined);
      span.end();
    });
    return kept.getFinishedSpans();
  }
  const call = httpCall('GET', 'https://user:pw@registry.example/', '/v2/vms/manifests/x?token=planted#planted');
  const statusOf = ({ status }: { status: number }): number => status;

  test('show server, path and status, and nothing that stands behind the path or before the host', async () => {
    const [span, outer] = await spansOf(() => inClientSpan(call, () => Promise.resolve({ status: 404 }), statusOf));
    assert.equal(span?.parentSpanId, outer?.spanContext().spanId);
    assert.deepEqual([span?.name, span?.kind, span?.status], ['GET', SpanKind.CLIENT, { code: SpanStatusCode.ERROR }]);
    assert.deepEqual(span?.attributes, {
      'server.address': 'registry.example',
      'server.port': 443,
      'http.request.method': 'GET',
      'url.path': '/v2/vms/manifests/x',
      'http.response.status_code': 404,
      'error.type': '404',
    });
  });

  test('of a call without an answer name the kind of failure, not its message', async () => {
    const lost = Object.assign(new Error('the password planted was refused'), { code: 'TIMEOUT' });
    const [span] = await spansOf(() => inClientSpan(call, () => Promise.reject<{ status: number }>(lost), statusOf));
    assert.deepEqual([span?.attributes['error.type'], span?.status], ['TIMEOUT', { code: 2 }]);
    assert.doesNotMatch(JSON.stringify([span?.attributes, span?.events, span?.status]), /planted/);
  });

  test('are not made outside of a trace', async () => {
    kept.reset();
    await inClientSpan(call, () => Promise.resolve({ status: 200 }), statusOf);
    assert.deepEqual(kept.getFinishedSpans(), []);
  });

  test('stay with their own chain of calls when several run side by side', async () => {
    const made = (path: string, run: () => Promise<{ status: number }>): Promise<{ status: number }> =>
      inClientSpan(httpCall('GET', 'https://x', path), run, statusOf);
    const answer = async (): Promise<{ status: number }> => {
      await new Promise(setImmediate);
      return { status: 200 };
    };
    const spans = await spansOf(() =>
      Promise.all(['/a', '/b'].map((path) => made(path, () => made(`${path}/inner`, answer)))),
    );
    const byPath = (path: string) => spans.find(({ attributes }) => attributes['url.path'] === path);
    for (const path of ['/a', '/b'])
      assert.equal(byPath(`${path}/inner`)?.parentSpanId, byPath(path)?.spanContext().spanId);
  });

  test('and all others lose what looks like a secret, in attributes, events and status', async () => {
    const [span] = await spansOf(() =>
      trace.getTracer('test').startActiveSpan('inner', (inner) => {
        inner.setAttribute('reason', 'https://op:planted@host/?key=planted');
        inner.recordException(new Error('Authorization: Bearer planted-0123456789'));
        inner.setStatus({ code: SpanStatusCode.ERROR, message: 'password=planted' });
        inner.end();
        return Promise.resolve();
      }),
    );
    assert.equal(span?.name, 'inner');
    assert.doesNotMatch(JSON.stringify([span.attributes, span.events, span.status]), /planted/);
    assert.match(JSON.stringify(span.events), /\[redacted\]/);
  });
});
