import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const oldestJava = 17;

/** `java17`; undefined without Java, and with one that is too old. */
export async function javaVersion(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    const { stderr } = await run('java', ['-version'], { env });
    const major = Number(/version "(\d+)/.exec(stderr)?.[1] ?? 0);
    return major >= oldestJava ? `java${major}` : undefined;
  } catch {
    return undefined; // no Java here: the caller says what that means
  }
}

/**
 * A Java program, ready to start: what the `pom.xml` in `dir` names is fetched into `jars/` beside `target` and compared with
 * `jars.sha256`, then `start.sh` becomes `target`. Fails with what Maven says; with ENOENT where there is no Maven.
 */
export async function fetchJars(dir: string, target: string, env: NodeJS.ProcessEnv): Promise<void> {
  const jars = join(dirname(target), 'jars');
  const partial = `${jars}.${process.pid}`;
  const draft = `${target}.${process.pid}`;
  try {
    await mkdir(partial, { recursive: true });
    const args = ['-B', '-q', '-f', join(dir, 'pom.xml'), copyDependencies, `-DoutputDirectory=${partial}`];
    await run('mvn', args, { env, maxBuffer: 64 * 1024 * 1024 });
    await compare(partial, await readFile(join(dir, 'jars.sha256'), 'utf8'));
    await rm(jars, { recursive: true, force: true });
    await rename(partial, jars);
    await copyFile(join(dir, 'start.sh'), draft);
    await chmod(draft, 0o755);
    await rename(draft, target);
  } finally {
    await rm(partial, { recursive: true, force: true });
    await rm(draft, { force: true });
  }
}

/** `list` is in the format of `sha256sum`. */
async function compare(dir: string, list: string): Promise<void> {
  const expected = list.split('\n').filter((line) => line !== '');
  const found: string[] = [];
  for (const name of await readdir(dir)) {
    const digest = createHash('sha256').update(await readFile(join(dir, name)));
    found.push(`${digest.digest('hex')}  ${name}`);
  }
  const others = [
    ...found.filter((line) => !expected.includes(line)).map((line) => `not listed: ${line}`),
    ...expected.filter((line) => !found.includes(line)).map((line) => `missing: ${line}`),
  ];
  if (others.length > 0) throw new Error(`the jars are not those of jars.sha256: ${others.join('; ')}`);
}
