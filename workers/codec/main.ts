import { codecOf } from '../../activities/codec/codec.ts';
import { createLog } from '../log.ts';
import { parseAddress } from '../settings.ts';
import { serveCodec } from './codec-server.ts';

/** Runs the codec server until it is told to stop (SIGTERM, SIGINT). */
async function runCodecServer(env: NodeJS.ProcessEnv): Promise<void> {
  const told = new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve);
  });
  const codec = await codecOf(env);
  if (codec === undefined)
    throw new Error('VMFLOW_CODEC_KEYS_FILE names no file of keys, so there is nothing to decode');
  const origins = (env['VMFLOW_CODEC_ORIGINS'] ?? '').split(',').flatMap((origin) => originOf(origin.trim()));
  const address = parseAddress('VMFLOW_CODEC_ADDRESS', env['VMFLOW_CODEC_ADDRESS'] ?? '127.0.0.1:9467');
  const log = createLog(env['VMFLOW_LOG_LEVEL'] ?? 'info', 'codec');
  const server = await serveCodec({ address, codec, origins, log });
  log.info({ port: server.port, origins }, 'codec server started');
  await told;
  await server.close();
}

function originOf(text: string): string[] {
  if (text === '') return [];
  if (URL.canParse(text) && new URL(text).origin !== 'null') return [new URL(text).origin];
  throw new Error(`VMFLOW_CODEC_ORIGINS: "${text}" is no origin like https://temporal.example`);
}

/** Entry of the process: a failure is printed once and ends it, so that its supervisor starts a new one. */
export function main(): void {
  runCodecServer(process.env).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`vmflow codec server: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    },
  );
}
