import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { selfSigned, type SelfSigned } from '../sim/self-signed.ts';
import { freePort, startProcess, type SupervisedProcess } from './processes.ts';
import { startTokenService, type TokenService } from './registry-tokens.ts';
import { findTool } from './tool.ts';
import { tools } from './tools.ts';

export interface RegistryOptions {
  /** `htpasswd`: one user, Basic. `token`: Bearer tokens of a token service beside it. Default `none`. */
  readonly auth?: 'none' | 'htpasswd' | 'token';
  /** Whether manifests can be deleted. Default true. */
  readonly deletion?: boolean;
  /** Serve https with a certificate of its own. */
  readonly tls?: boolean;
  readonly logFile?: string;
}

export interface RegistryUnderTest {
  /** `http://127.0.0.1:<port>`, `https:` with `tls`. */
  readonly url: string;
  readonly certificate?: SelfSigned;
  /** May do everything; meaningless with auth `none`. */
  readonly user: string;
  readonly password: string;
  /** Only with auth `token`. */
  readonly tokens?: TokenService;
  /** SIGKILL. What is stored stays. */
  kill(): Promise<void>;
  /** Starts it again on the same port, killing it first where it runs. */
  restart(): Promise<void>;
  /** Stops (SIGSTOP) and continues it: connections stay open, nothing answers. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

const user = 'vmflow';
const password = 'simulated';
/** bcrypt of the password, with the lowest cost: every request of a test pays for it. */
const passwordHash = '$2a$04$M1hW8K4bBiIflvlVBv0fAOE3n5dPvWkgKRlAMgesns9sH2lptrAWS';

/** Starts an OCI registry on loopback that keeps everything in a temporary directory. */
export async function startRegistry(options: RegistryOptions = {}): Promise<RegistryUnderTest> {
  const binary = await findTool(tools.registry);
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-registry-'));
  const port = await freePort();
  const certificate = options.tls === true ? selfSigned() : undefined;
  const tokens = options.auth === 'token' ? await startTokenService({ [user]: { password } }) : undefined;
  let registry: SupervisedProcess | undefined;
  const stop = async (): Promise<void> => {
    await registry?.kill();
    await tokens?.stop();
    await rm(dir, { recursive: true, force: true });
  };
  const start = (): Promise<SupervisedProcess> =>
    startProcess({
      name: 'The registry',
      command: binary,
      args: ['serve', join(dir, 'registry.yaml')],
      env: { ...process.env, OTEL_TRACES_EXPORTER: 'none' },
      ready: (line) => line.includes('listening on'),
      ...(options.logFile === undefined ? {} : { logFile: options.logFile }),
    });
  try {
    await writeFiles(dir, port, options, certificate, tokens);
    registry = await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    ...(certificate === undefined ? {} : { certificate }),
    user,
    password,
    ...(tokens === undefined ? {} : { tokens }),
    kill: async () => registry?.kill(),
    async restart() {
      await registry?.kill();
      registry = await start();
    },
    freeze: () => registry?.signal('SIGSTOP'),
    thaw: () => registry?.signal('SIGCONT'),
    stop,
  };
}

async function writeFiles(
  dir: string,
  port: number,
  options: RegistryOptions,
  certificate: SelfSigned | undefined,
  tokens: TokenService | undefined,
): Promise<void> {
  const path = (file: string): string => join(dir, file);
  const config = {
    version: '0.1',
    log: { level: 'info', accesslog: { disabled: true } },
    storage: {
      filesystem: { rootdirectory: path('data') },
      delete: { enabled: options.deletion ?? true },
    },
    http: {
      addr: `127.0.0.1:${port}`,
      secret: 'of this registry alone',
      ...(certificate === undefined ? {} : { tls: { certificate: path('tls.crt'), key: path('tls.key') } }),
    },
    ...(options.auth === 'htpasswd' ? { auth: { htpasswd: { realm: 'vms', path: path('users') } } } : {}),
    ...(tokens === undefined ? {} : { auth: { token: { ...tokens.trust, jwks: path('keys.json') } } }),
  };
  const files: Readonly<Record<string, string>> = {
    'registry.yaml': stringify(config),
    users: `${user}:${passwordHash}\n`,
    'keys.json': JSON.stringify(tokens?.keys ?? {}),
    'tls.crt': certificate?.certPem ?? '',
    'tls.key': certificate?.keyPem ?? '',
  };
  await Promise.all(Object.entries(files).map(([file, text]) => writeFile(path(file), text, { mode: 0o600 })));
}
