import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { nextStop, type NfcRule } from './nfc-rules.ts';
import type { OpenRequest } from './request-log.ts';

/** What became of the upload's body. */
export type RelayEnd = { readonly passedOn: true } | { readonly passedOn: false; readonly status?: number };

const slice = 16 * 1024; // small, so that a throttled upload moves smoothly

/** Passes an upload's body on, disturbed by the rules that fire for it. Rejects when either side goes away by itself. */
export async function relayUpload(
  from: IncomingMessage,
  answer: ServerResponse,
  to: Writable,
  rules: readonly NfcRule[],
  record: OpenRequest,
  reset: () => void,
): Promise<RelayEnd> {
  let pending = [...rules];
  let passed = 0;
  let bytesPerSecond = Infinity;
  const end = await act();
  if (end) return end;
  for await (const chunk of from as AsyncIterable<Buffer>) {
    record.bytes += chunk.length;
    for (let rest = chunk; rest.length > 0;) {
      const { rule, pass } = nextStop(pending, passed, Math.min(rest.length, slice));
      await passOn(rest.subarray(0, pass));
      rest = rest.subarray(pass);
      const ended = rule ? await act(rule) : undefined;
      if (ended) return ended;
    }
  }
  to.end();
  return { passedOn: true };

  async function passOn(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    passed += bytes.length;
    if (to.destroyed) throw new Error('the simulator closed the connection');
    await write(to, bytes);
    if (bytesPerSecond < Infinity) await sleep((bytes.length / bytesPerSecond) * 1000);
  }

  /** Without a rule: what acts before the first byte. */
  async function act(rule = pending.find(({ afterBytes = 0 }) => afterBytes === 0)): Promise<RelayEnd | undefined> {
    if (!rule) return undefined;
    pending = pending.filter((other) => other !== rule);
    switch (rule.action) {
      case 'throttle':
        bytesPerSecond = rule.bytesPerSecond;
        return act();
      case 'stall':
        await Promise.race([rule.until ?? new Promise(() => undefined), once(answer, 'close')]);
        return answer.destroyed ? { passedOn: false } : act();
      case 'reset':
        reset();
        return { passedOn: false };
      case 'status-500':
        for await (const chunk of from as AsyncIterable<Buffer>) record.bytes += chunk.length;
        return { passedOn: false, status: rule.status ?? 500 };
      case 'early-response':
        return { passedOn: false, status: rule.status ?? 500 };
      default:
        throw new Error(`unknown action ${JSON.stringify(rule satisfies never)}`);
    }
  }
}

/** Waits for room as `drain` would tell it, which never comes when the answer is there before. */
async function write(to: Writable, bytes: Buffer): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const hasRoom = to.write(bytes, (error) => (error ? reject(error) : resolve()));
    if (hasRoom) resolve();
  });
}
