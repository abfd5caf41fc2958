import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { imageTree } from '../../activities/deploy/image-tree.ts';
import { composeProject, envExample } from './compose-file.ts';
import { nativeImages } from './native-images.ts';
import { NativeProject } from './native-project.ts';

/** A project of the compose file on this machine, nothing of it started yet, filled in as its operator does. */
export interface Composed {
  readonly project: NativeProject;
  readonly dir: string;
  /** Where `vmflow.yaml` has to be before workers and bridge are started. */
  readonly configPath: string;
  /** Directory whose files are `/etc/vmflow-secrets/NAME` to the processes. */
  readonly secrets: string;
  remove(): Promise<void>;
}

/** @param profiles as `COMPOSE_PROFILES` has them; @param variables what else the operator writes into his `.env` */
export async function compose(profiles: string, variables: Readonly<Record<string, string>> = {}): Promise<Composed> {
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-composed-'));
  const tree = await imageTree();
  const [secrets, configPath] = [join(dir, 'secrets/vmflow'), join(dir, 'vmflow.yaml')];
  await mkdir(secrets, { recursive: true });
  const password = join(dir, 'secrets/postgres-password');
  await writeFile(password, 'planted-Pa55word-c0de\n');
  await copyFile(new URL('../../../workers/deploy/compose/vmflow.yaml', import.meta.url), configPath);
  const envFile = join(dir, '.env');
  const filled = {
    COMPOSE_PROFILES: profiles,
    POSTGRES_PASSWORD_FILE: password,
    VMFLOW_SECRETS: secrets,
    VMFLOW_CONFIG_FILE: configPath,
    ...variables,
  };
  const lines = Object.entries(filled).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(envFile, `${await readFile(envExample, 'utf8')}${lines.join('')}`);
  const native = join(dir, 'native');
  await mkdir(native);
  await chmod(dir, 0o755); // the database is another user's
  const project = new NativeProject(
    await composeProject(undefined, { envFile }),
    await nativeImages(join(dir, 'images'), tree.dir),
    native,
  );
  return {
    project,
    dir: native,
    configPath,
    secrets,
    async remove() {
      await project.down();
      await tree.remove();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
