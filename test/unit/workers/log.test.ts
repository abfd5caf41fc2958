import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLog } from '../../../workers/log.ts';
import { codeCounter } from '../../../workers/sdk-codes.ts';
import { temporalLogger } from '../../../workers/temporal-logger.ts';

const secret = 'planted-7f3a';

/** The lines that a process of this kind writes. */
function written(kind: string, write: (log: ReturnType<typeof createLog>) => void): string {
  let text = '';
  write(createLog('trace', kind, { write: (line) => void (text += line) }));
  return text;
}

const lines: Readonly<Record<string, readonly [object, string]>> = {
  'a field': [{ password: secret, token: secret, cookie: secret, url: secret, apiKey: secret }, 'x'],
  'a field of another name or case': [
    { Authorization: secret, 'x-auth-token': secret, clientKeyPrivateKey: secret, vcPassword: secret },
    'x',
  ],
  'a field far down, and in a list': [{ a: { b: { c: { d: { password: secret } } } }, list: [{ token: secret }] }, 'x'],
  'the message': [{}, `can't open https://op:${secret}@vcenter.example/sdk?session=${secret}`],
  'a text': [{ reason: `password=${secret}` }, 'x'],
  'an error': [{ error: new Error(`Authorization: Bearer ${secret}`) }, 'x'],
  'the cause of an error': [{ error: new Error('lost', { cause: new Error(`GET https://h/x?sig=${secret}`) }) }, 'x'],
  'what an error carries': [
    { error: Object.assign(new Error('lost'), { request: { headers: { cookie: secret } } }) },
    'x',
  ],
  'an error within a field': [{ last: { error: new Error(`--token ${secret}`) } }, 'x'],
};

for (const kind of ['control', 'transfer', 'bridge'])
  describe(`the log of a ${kind} process hides a secret in`, () => {
    for (const [where, [facts, message]] of Object.entries(lines))
      test(where, () => {
        const text = written(kind, (log) => log.warn(facts, message));
        assert.doesNotMatch(text, new RegExp(secret));
        assert.match(text, /\[redacted\]/);
      });
  });

test('a log line is one JSON document with time, process, message and its facts', () => {
  const at = new Date(0);
  const line = JSON.parse(written('bridge', (log) => log.info({ at, bytes: 7, error: new Error('lost') }, 'done'))) as {
    error: { message: string; stack: string };
    time: string;
  };
  assert.ok(Date.parse(line.time) > 0);
  assert.match(line.error.stack, /log\.test\.ts/);
  const { worker, msg, bytes, at: shown } = line as unknown as Record<string, unknown>;
  assert.deepEqual([worker, msg, bytes, shown, line.error.message], ['bridge', 'done', 7, at.toISOString(), 'lost']);
});

test('facts that contain themselves are cut off', () => {
  const facts: Record<string, unknown> = {};
  facts['self'] = facts;
  assert.match(
    written('control', (log) => log.info(facts, 'x')),
    /\[…\]/,
  );
});

test('the SDK’s lines go the same way, and those with a code are counted', () => {
  const added: unknown[] = [];
  const codes = codeCounter();
  codes.begin({ createCounter: () => ({ add: (by: number, tags: unknown) => added.push([by, tags]) }) } as never);
  added.length = 0;
  const text = written('control', (log) => {
    const logger = temporalLogger(log, codes.count);
    logger.warn('[TMPRL1103] Attempted to upload payloads with size that exceeded the warning limit', {
      password: secret,
    });
    logger.warn('something else');
  });
  assert.doesNotMatch(text, new RegExp(secret));
  assert.deepEqual(added, [[1, { code: 'TMPRL1103' }]]);
});
