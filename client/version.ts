import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Action } from './commands/command.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { labelled } from './output/error.ts';
import type { Session } from './session.ts';

interface FarVersions {
  readonly server?: string;
  readonly workers: readonly string[];
  readonly note?: string;
}

/** `version`: what can be told without the server always is. */
export const showVersion: Action<object> = async (session) => {
  const [own, far] = await Promise.all([ownVersion(), farVersions(session)]);
  const sdk = sdkVersion();
  const lines = [
    `vmflow ${own}`,
    labelled('sdk', `@temporalio/client ${sdk}`, session.paint),
    labelled('node', process.versions.node, session.paint),
    labelled('server', far.server ?? `not known: ${far.note ?? ''}`, session.paint),
    labelled('workers', far.workers.length === 0 ? 'none seen on the queue' : far.workers.join('\n'), session.paint),
  ];
  await session.print({
    kind: 'Version',
    document: { version: own, sdk, node: process.versions.node, ...far },
    names: [own],
    ids: [own],
    text: `${lines.join('\n')}\n`,
  });
  return exitCodes.ok.code;
};

/** Built or not, package.json is the nearest one upwards. */
async function ownVersion(): Promise<string> {
  for (const path of ['../package.json', '../../package.json']) {
    const text = await readFile(new URL(path, import.meta.url), 'utf8').catch(() => undefined);
    if (text !== undefined) return (JSON.parse(text) as { version: string }).version;
  }
  return 'unknown';
}

function sdkVersion(): string {
  const require = createRequire(import.meta.url);
  return (require('@temporalio/client/package.json') as { version: string }).version;
}

async function farVersions(session: Session): Promise<FarVersions> {
  try {
    const gateway = await session.gateway();
    const { taskQueue } = await session.settings();
    const { version } = await gateway.server();
    const pollers = await gateway.pollers(taskQueue.value, 'workflow');
    return {
      server: version,
      workers: pollers.map(({ identity, buildId }) =>
        buildId === undefined ? identity : `${identity} (build ${buildId})`,
      ),
    };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { workers: [], note: error.message };
  }
}
