import { setTimeout as sleep } from 'node:timers/promises';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResourcesSync, envDetectorSync, Resource } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { AsyncContexts } from './context-adapter.ts';
import { SafeExporter } from './safe-exporter-adapter.ts';

export interface TracingOptions {
  /** `service.name`, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES say another. */
  readonly service: string;
  readonly version?: string;
  /** One export takes no longer, milliseconds; absent: what OTEL_EXPORTER_OTLP_TIMEOUT says. */
  readonly exportMs?: number;
  /** `stop` takes no longer, milliseconds. */
  readonly stopMs: number;
  /** A collector that can't be reached: told with every batch that is lost. */
  readonly onFailure?: (error: unknown) => void;
}

export interface Tracing {
  /** Runs something as the first span of a trace of its own. It notes how it ended: an exit code, and a word where it failed. */
  root<T>(name: string, run: (note: (exit: number, failure: string | undefined) => void) => Promise<T>): Promise<T>;
  /** Sends what is left. Never fails: a collector that is away costs its spans and no more than the time that is given. */
  stop(): Promise<void>;
}

/** Starts what collects and sends spans in this process, once; where to and how much is OpenTelemetry's environment's to say. */
export function startTracing(options: TracingOptions): Tracing {
  const { service, version, exportMs, stopMs, onFailure } = options;
  setGlobalErrorHandler((error) => onFailure?.(error));
  const own = { 'service.name': service, ...(version === undefined ? {} : { 'service.version': version }) };
  const exporter = new OTLPTraceExporter({
    // The agent's time-out counts while it connects too: an address that swallows packets holds up nobody.
    ...(exportMs === undefined ? {} : { timeoutMillis: exportMs, httpAgentOptions: { timeout: exportMs } }),
  });
  const provider = new BasicTracerProvider({
    resource: new Resource(own).merge(detectResourcesSync({ detectors: [envDetectorSync] })),
    spanProcessors: [new BatchSpanProcessor(new SafeExporter(exporter))],
  });
  provider.register({ contextManager: new AsyncContexts(), propagator: new W3CTraceContextPropagator() });
  return {
    root: (name, run) =>
      trace.getTracer('vmflow').startActiveSpan(name, { root: true }, async (span) => {
        try {
          return await run((exit, failure) => {
            span.setAttribute('process.exit.code', exit);
            if (failure === undefined) return;
            span.setAttribute('error.type', failure);
            span.setStatus({ code: SpanStatusCode.ERROR });
          });
        } finally {
          span.end();
        }
      }),
    async stop() {
      const giveUp = new AbortController();
      const over = sleep(stopMs, undefined, { signal: giveUp.signal }).catch(() => undefined);
      await Promise.race([provider.shutdown().catch((error: unknown) => onFailure?.(error)), over]);
      giveUp.abort();
    },
  };
}
