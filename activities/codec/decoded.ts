import { defaultPayloadConverter } from '@temporalio/client';
import { isEncrypted, type Codec } from './payload-codec-adapter.ts';

type Payload = Parameters<Codec['decode']>[0][number];

/**
 * A copy of a message of Temporal's protocol, with every encrypted payload in it decoded, however deep it is, and failures telling their
 * message again. What can't be decoded stays as it is: one lost key doesn't hide the rest of a history.
 */
export async function decoded<T>(message: T, codec: Codec): Promise<T> {
  return (await walk(message, codec)) as T;
}

async function walk(value: unknown, codec: Codec): Promise<unknown> {
  if (Array.isArray(value)) return await Promise.all(value.map((item) => walk(item, codec)));
  if (!isMessage(value)) return value;
  if (isPayload(value))
    return await codec
      .decode([value])
      .then(([payload]) => payload)
      .catch(() => value);
  const copy = Object.create(Object.getPrototypeOf(value) as object | null) as Record<string, unknown>;
  for (const [key, field] of Object.entries(value)) copy[key] = await walk(field, codec);
  return copy['encodedAttributes'] == null ? copy : tellingFailure(copy);
}

/** The SDK's names inside of what it encodes of a failure. */
interface Encoded {
  readonly message?: string;
  readonly stack_trace?: string;
}

function tellingFailure(failure: Record<string, unknown>): Record<string, unknown> {
  const attributes = failure['encodedAttributes'] as Payload;
  if (isEncrypted(attributes)) return failure;
  const { message, stack_trace: stackTrace } = defaultPayloadConverter.fromPayload<Encoded>(attributes);
  return Object.assign(failure, { message, stackTrace });
}

/** Neither bytes nor the protocol's large numbers, which are taken as they are. */
function isMessage(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !('unsigned' in value);
}

function isPayload(value: object): value is Payload {
  return 'metadata' in value && 'data' in value && isEncrypted(value as Payload);
}
