import type { Attributes, AttributeValue } from '@opentelemetry/api';
import type { ExportResult } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { safeText } from '../history/redact.ts';

/** Cuts out of every text of a span what looks like a secret, whoever has written it: traces go where logs don't. */
export class SafeExporter implements SpanExporter {
  readonly #next: SpanExporter;

  constructor(next: SpanExporter) {
    this.#next = next;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#next.export(spans.map(withoutSecrets), done);
  }

  async forceFlush(): Promise<void> {
    await this.#next.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#next.shutdown();
  }
}

/** The same span, with other texts. */
function withoutSecrets(span: ReadableSpan): ReadableSpan {
  const { status, events, attributes } = span;
  const clean: Partial<ReadableSpan> = {
    attributes: safeAttributes(attributes),
    status: status.message === undefined ? status : { ...status, message: safeText(status.message) },
    events: events.map((event) =>
      event.attributes === undefined ? event : { ...event, attributes: safeAttributes(event.attributes) },
    ),
  };
  return Object.create(
    span,
    Object.fromEntries(Object.entries(clean).map(([name, value]) => [name, { value, enumerable: true }])),
  ) as ReadableSpan;
}

function safeAttributes(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, safe(value)]));
}

function safe(value: AttributeValue | undefined): AttributeValue | undefined {
  if (typeof value === 'string') return safeText(value);
  return Array.isArray(value) ? (value.map((part) => safe(part ?? undefined)) as AttributeValue) : value;
}
