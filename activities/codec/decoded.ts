import { setImmediate as turn } from 'node:timers/promises';
import { defaultPayloadConverter } from '@temporalio/client';
import { isEncrypted, type Codec } from './payload-codec-adapter.ts';

type Payload = Parameters<Codec['decode']>[0][number];
type Fields = Record<string, unknown>;

/** Payloads between two looks at what else the process has to do: a history may have tens of thousands. */
const atOnce = 200;

/**
 * The message of Temporal's protocol with every encrypted payload in it decoded, however deep it is, and failures telling their
 * message again. What can't be decoded stays as it is: one lost key doesn't hide the rest of a history. What changes is copied, the rest is
 * taken over; it is looked through without waiting, since a wait for each of a history's million values takes seconds.
 */
export async function decoded<T>(message: T, codec: Codec): Promise<T> {
  const found: Found = { payloads: [], failures: [] };
  const copy = copied(message, found) as T;
  for (let from = 0; from < found.payloads.length; from += atOnce) {
    if (from > 0) await turn();
    await Promise.all(found.payloads.slice(from, from + atOnce).map((payload) => decodeInPlace(payload, codec)));
  }
  for (const failure of found.failures) tell(failure);
  return copy;
}

/** Copies, so they may be changed. */
interface Found {
  readonly payloads: Payload[];
  readonly failures: Fields[];
}

/** The value itself where nothing in it is to be changed. */
function copied(value: unknown, found: Found): unknown {
  if (Array.isArray(value)) return copiedList(value, found);
  if (!isMessage(value)) return value;
  if (isPayload(value)) {
    const payload = Object.assign(emptyLike(value), value);
    found.payloads.push(payload);
    return payload;
  }
  return copiedMessage(value, found);
}

function copiedList(list: readonly unknown[], found: Found): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (const [index, item] of list.entries()) {
    const part = copied(item, found);
    if (part !== item) (copy ??= [...list])[index] = part;
  }
  return copy ?? list;
}

function copiedMessage(message: Fields, found: Found): Fields {
  const isFailure = message['encodedAttributes'] != null;
  let copy = isFailure ? Object.assign(emptyLike(message), message) : undefined;
  for (const name of Object.keys(message)) {
    const part = copied(message[name], found);
    if (part !== message[name]) (copy ??= Object.assign(emptyLike(message), message))[name] = part;
  }
  if (isFailure && copy !== undefined) found.failures.push(copy);
  return copy ?? message;
}

function emptyLike(message: object): Fields {
  return Object.create(Object.getPrototypeOf(message) as object | null) as Fields;
}

async function decodeInPlace(payload: Payload, codec: Codec): Promise<void> {
  const [plain] = await codec.decode([payload]).catch(() => []);
  if (plain !== undefined) Object.assign(payload, plain);
}

/** The SDK's names inside of what it encodes of a failure. */
interface Encoded {
  readonly message?: string;
  readonly stack_trace?: string;
}

function tell(failure: Fields): void {
  const attributes = failure['encodedAttributes'] as Payload;
  if (isEncrypted(attributes)) return;
  const { message, stack_trace: stackTrace } = defaultPayloadConverter.fromPayload<Encoded>(attributes);
  Object.assign(failure, { message, stackTrace });
}

/** Neither bytes nor the protocol's large numbers, which are taken as they are. */
function isMessage(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !('unsigned' in value);
}

function isPayload(value: object): value is Payload {
  return 'metadata' in value && 'data' in value && isEncrypted(value as Payload);
}
