import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { OperationView } from './operations.ts';

/** What a handler answers. */
export type Answer =
  | { readonly kind: 'sync'; readonly metadata: unknown; readonly etag?: string }
  | { readonly kind: 'async'; readonly operation: OperationView };

export const done: Answer = { kind: 'sync', metadata: {} };

/** A request that the server refuses at once. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Hash of the writable part of an object. */
export function etagOf(writable: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(writable)))
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

export interface Wire {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function wireOf(answer: Answer): Wire {
  if (answer.kind === 'async') {
    const location = `/1.0/operations/${answer.operation.id}`;
    const body = {
      type: 'async',
      status: 'Operation created',
      status_code: 100,
      operation: location,
      error_code: 0,
      error: '',
      metadata: answer.operation,
    };
    return json(202, body, { location });
  }
  const { metadata, etag } = answer;
  const body = { type: 'sync', status: 'Success', status_code: 200, operation: '', error_code: 0, error: '', metadata };
  return json(200, body, etag === undefined ? {} : { etag });
}

export function wireOfError(status: number, error: string): Wire {
  return json(status, {
    type: 'error',
    status: '',
    status_code: 0,
    operation: '',
    error_code: status,
    error,
    metadata: null,
  });
}

function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Wire {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

export function sendWire(response: ServerResponse, { status, headers, body }: Wire): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
