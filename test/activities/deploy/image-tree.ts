import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { deployDir } from './kustomized.ts';

const root = resolve(deployDir, '../..');

/** What a stage of the Dockerfile copies: `COPY <sources> <target>`, of the context or of an earlier stage. */
interface Copy {
  readonly fromBuild: boolean;
  readonly sources: readonly string[];
  readonly target: string;
}

export interface ImageTree {
  /** What the image has in its working directory. */
  readonly dir: string;
  /** What is copied from the first stage to places outside of the working directory. */
  readonly elsewhere: readonly string[];
  remove(): Promise<void>;
}

/**
 * The working directory of the image as the Dockerfile makes it, without Docker: its first stage is done in a copy of only what it
 * copies, with the packages that are installed here; the second gets what that copies, of the packages those for production.
 */
export async function imageTree(): Promise<ImageTree> {
  const dir = await mkdtemp(join(tmpdir(), 'vmflow-image-'));
  const [stage, image] = [join(dir, 'build'), join(dir, 'image')];
  const copies = await copiesOf(join(deployDir, 'Dockerfile'));
  for (const { sources, target } of copies.filter(({ fromBuild }) => !fromBuild))
    for (const source of sources) await cp(join(root, source), placeIn(stage, source, target), { recursive: true });
  await symlink(join(root, 'node_modules'), join(stage, 'node_modules'));
  await promisify(execFile)(process.execPath, ['workers/build.ts'], { cwd: stage });
  const built = copies.filter(({ fromBuild }) => fromBuild);
  const inside = built.filter(({ sources: [source = ''] }) => source.startsWith('/vmflow/'));
  for (const { sources, target } of inside) {
    const source = sources[0]!.slice('/vmflow/'.length);
    if (source === 'node_modules') await linkProduction(join(image, target));
    else await cp(join(stage, source), placeIn(image, source, target), { recursive: true });
  }
  return {
    dir: image,
    elsewhere: built.filter((copy) => !inside.includes(copy)).map(({ target }) => target),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

async function copiesOf(dockerfile: string): Promise<readonly Copy[]> {
  const lines = (await readFile(dockerfile, 'utf8')).split('\n');
  return lines.flatMap((line) => {
    const [, stage, paths] = /^COPY (?:--from=(\S+) )?(.+)$/.exec(line) ?? [];
    if (paths === undefined) return [];
    const words = paths.split(' ');
    return [{ fromBuild: stage === 'build', sources: words.slice(0, -1), target: words.at(-1)! }];
  });
}

const placeIn = (dir: string, source: string, target: string): string =>
  target.endsWith('/') ? join(dir, target, source.split('/').at(-1)!) : join(dir, target);

/** What is left by `npm prune --omit=dev`, as the lock file says. */
async function linkProduction(target: string): Promise<void> {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly optional?: boolean }>>;
  };
  // What is nested in a package comes with it.
  const top = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/;
  for (const [path, { dev = false, optional = false }] of Object.entries(packages)) {
    const [, name] = top.exec(path) ?? [];
    if (name === undefined || dev || optional) continue;
    await mkdir(dirname(join(target, name)), { recursive: true });
    await symlink(join(root, path), join(target, name));
  }
}
