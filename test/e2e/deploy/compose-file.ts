import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findTool } from '../../stack/tool.ts';
import { tools } from '../../stack/tools.ts';

export const projectDir = resolve(import.meta.dirname, '../../..');
export const envExample = join(projectDir, '.env.example');

export type Profile = 'server' | 'laptop';

/** The compose file as its parser understands it: variables filled in, paths absolute. Only what the tests look at. */
export interface ComposeProject {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, object>>;
  readonly secrets?: Readonly<Record<string, { readonly file?: string }>>;
  readonly configs: Readonly<Record<string, { readonly file?: string }>>;
}

export interface ComposeService {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly entrypoint: readonly string[] | null;
  readonly command: readonly string[] | null;
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, Dependency>>;
  readonly healthcheck?: { readonly test: readonly [kind: string, ...command: string[]] };
  readonly networks: Readonly<Record<string, { readonly aliases?: readonly string[] } | null>>;
  readonly ports?: readonly { readonly host_ip?: string; readonly published: string; readonly target: number }[];
  readonly secrets?: readonly Mounted[];
  readonly configs?: readonly Mounted[];
  readonly volumes?: readonly {
    readonly type: 'bind' | 'volume';
    readonly source: string;
    readonly target: string;
    readonly read_only?: boolean;
  }[];
  readonly tmpfs?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly restart: 'unless-stopped' | 'on-failure';
  /** As `1m0s`. */
  readonly stop_grace_period?: string;
}

export interface Dependency {
  readonly condition: 'service_healthy' | 'service_completed_successfully';
}

interface Mounted {
  readonly source: string;
  readonly target?: string;
}

/** Fails where the parser of compose does, or would only warn. */
export async function composeProject(
  profile: Profile | undefined,
  { envFile = envExample, file = join(projectDir, 'docker-compose.yml') } = {},
): Promise<ComposeProject> {
  const parser = await findTool(tools.compose);
  const args = ['-file', file, '-env-file', envFile, '-profile', profile ?? ''];
  // Variables of whoever runs the tests aren't meant.
  const { stdout } = await promisify(execFile)(parser, args, { env: { PATH: process.env['PATH'] } });
  return JSON.parse(stdout) as ComposeProject;
}

/** Where the parser has it in the container. */
export const secretTarget = ({ source, target }: Mounted): string => target ?? `/run/secrets/${source}`;
