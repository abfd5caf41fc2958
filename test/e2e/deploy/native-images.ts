import { chmod, chown, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { findTool } from '../../stack/tool.ts';
import { tools } from '../../stack/tools.ts';
import type { ComposeService } from './compose-file.ts';

/** What stands in for an image where there are no containers: what it has by itself, before the compose file says anything. */
export interface NativeImage {
  readonly cwd: string;
  readonly entrypoint?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Called before each start, with what is mounted: native path by path in the container. */
  readonly prepare?: (mounts: ReadonlyMap<string, string>) => Promise<void>;
}

export interface NativeImages {
  /** `PATH` with the programs of all images. */
  readonly path: string;
  of(service: ComposeService): NativeImage;
}

/** As the image's entrypoint: makes the database that it is told, then runs the server. As the user `postgres`, as there. */
const postgresEntrypoint = `
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth=scram-sha-256 --no-sync $POSTGRES_INITDB_ARGS
  echo "CREATE DATABASE $POSTGRES_DB" | postgres --single postgres
fi
exec postgres -c listen_addresses="$NATIVE_ADDRESS" -c unix_socket_directories="$PGDATA" "$@"
`;

/** Of the image's config/docker.yaml what the compose file gives values to. */
const uiConfig = `# enable-template
temporalGrpcAddress: {{ env "TEMPORAL_ADDRESS" }}
host: {{ env "NATIVE_ADDRESS" }}
port: {{ env "TEMPORAL_UI_PORT" | default "8080" }}
enableUi: true
defaultNamespace: {{ env "TEMPORAL_DEFAULT_NAMESPACE" | default "default" }}
disableNewsFetch: {{ env "TEMPORAL_DISABLE_NEWS_FETCH" | default "false" }}
cors:
  cookieInsecure: {{ env "TEMPORAL_CSRF_COOKIE_INSECURE" | default "false" }}
  allowOrigins: ["{{ env "TEMPORAL_CORS_ORIGINS" }}"]
codec:
  endpoint: {{ env "TEMPORAL_CODEC_ENDPOINT" | default "" }}
`;

const dataDir = '/var/lib/postgresql/data';

/** @param dir for what the images have; @param vmflow working directory of our own image */
export async function nativeImages(dir: string, vmflow: string): Promise<NativeImages> {
  const bin = join(dir, 'bin');
  await mkdir(bin, { recursive: true });
  const postgres = dirname(await realpath(await findTool(tools.postgres)));
  const programs = {
    'temporal-server': await findTool(tools.temporalServer),
    'temporal-sql-tool': await findTool(tools.temporalSqlTool),
    'ui-server': await findTool(tools.temporalUi),
    temporal: await findTool(tools.temporal),
    node: process.execPath,
  };
  for (const [name, path] of Object.entries(programs)) await symlink(path, join(bin, name));
  await mkdir(join(dir, 'ui/config'), { recursive: true });
  await writeFile(join(dir, 'ui/config/docker.yaml'), uiConfig);
  await writeFile(join(dir, 'postgres-entrypoint.sh'), postgresEntrypoint);

  const images: Readonly<Record<string, NativeImage>> = {
    postgres: {
      cwd: '/',
      entrypoint: [
        ...['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'],
        ...['/bin/sh', join(dir, 'postgres-entrypoint.sh')],
      ],
      env: { PGDATA: dataDir },
      prepare: async (mounts) => {
        const data = mounts.get(dataDir)!;
        const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
        await chown(data, id('-u'), id('-g'));
        await chmod(data, 0o700);
      },
    },
    'temporalio/server': { cwd: '/' },
    'temporalio/admin-tools': { cwd: '/' },
    'temporalio/temporal': { cwd: '/', entrypoint: ['node', join(import.meta.dirname, 'dev-server.ts'), 'temporal'] },
    'temporalio/ui': { cwd: join(dir, 'ui'), entrypoint: ['ui-server', '--env', 'docker', 'start'] },
    vmflow: { cwd: vmflow, env: { NODE_ENV: 'production' } },
  };
  return {
    path: [bin, postgres, '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    of({ image }) {
      const native = images[image.replace(/:[^:/]+$/, '')];
      if (native === undefined) throw new Error(`Nothing here stands in for the image ${image}.`);
      return native;
    },
  };
}
