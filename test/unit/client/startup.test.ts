import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cli = fileURLToPath(new URL('../../../client/cli.ts', import.meta.url));

/** A preloaded module that writes down which packages are loaded. */
const recorder = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  const seen = new Set();
  registerHooks({ resolve(specifier, context, next) {
    const found = next(specifier, context);
    const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url)?.[1];
    if (name) seen.add(name);
    return found;
  } });
  process.on('exit', () => process.stderr.write('LOADED ' + [...seen].sort().join(' ') + '\\n'));
`)}`;

async function packagesOf(...argv: string[]): Promise<readonly string[]> {
  const { stderr } = await run(process.execPath, ['--import', recorder, cli, ...argv]).catch(
    (error: unknown) => error as { stderr: string },
  );
  return (/LOADED (.*)\n/.exec(stderr)?.[1] ?? '').split(' ').filter((name) => name !== '');
}

test('--help loads the parser and nothing heavy, which keeps it under 300 ms', async () => {
  for (const argv of [['--help'], ['template', 'update', '--help'], ['stop', '--help'], ['op', '--help'], []]) {
    assert.deepEqual(await packagesOf(...argv), ['commander', 'picocolors'], argv.join(' '));
  }
});

test('completion loads no SDK: it answers while somebody types', async () => {
  assert.deepEqual(await packagesOf('complete', '--', 'template', ''), ['@bomb.sh/tab', 'commander', 'picocolors']);
});

test('a command that reaches for Temporal loads nothing of tracing unless a collector is named', async () => {
  const ofTracing = async (): Promise<readonly string[]> =>
    (await packagesOf('template', 'list', '--address', '127.0.0.1:1')).filter((name) => /opentelemetry/.test(name));
  assert.deepEqual(await ofTracing(), []);
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = 'http://127.0.0.1:1';
  try {
    assert.ok((await ofTracing()).includes('@opentelemetry/api'));
  } finally {
    delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  }
});
