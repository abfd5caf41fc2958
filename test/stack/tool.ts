import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, glob, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDir } from './cache-dir.ts';
import { debianPackagesMissing, unpackDebianPackage, type DebianHost } from './debian.ts';
import { fetchJars, javaVersion } from './jars.ts';
import { withLock } from './lock.ts';
import type { DebianTool, Tool } from './tools.ts';

const run = promisify(execFile);
const toolsDir = join(import.meta.dirname, 'tools');
const projectBin = join(import.meta.dirname, '../../node_modules/.bin');

/**
 * Path of the tool's binary: from its environment variable, else the PATH, else the cache, else built with Go, fetched with Maven
 * or installed from Debian's packages (which says on stderr what it does and how long that takes).
 */
export async function findTool(tool: Tool | DebianTool, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  if ('packages' in tool && tool.needsRoot === true && process.getuid?.() !== 0)
    throw new Error(`${tool.name} is of use to root only.`);
  const named = env[tool.env];
  if (named) {
    if (await isExecutable(named)) return named;
    throw new Error(`${tool.env} names ${named}, which is no executable file: correct or unset it.`);
  }
  if ('packages' in tool) return await findInDebian(tool, env);
  return (await findOnPath(tool, env)) ?? (await findInCache(tool, env)) ?? (await buildIntoCache(tool, env));
}

/** Where it needs other packages too, that the binary is there says nothing of them. */
async function findInDebian(tool: DebianTool, env: NodeJS.ProcessEnv): Promise<string> {
  const look = async (): Promise<string | undefined> => (await findOnPath(tool, env)) ?? (await findElsewhere(tool));
  const present = await look();
  if (present !== undefined && tool.packages.length === 1) return present;
  if (tool.unpacked !== undefined) return await unpackIntoCache(tool, tool.unpacked, env);
  const reason = await debianPackagesMissing(tool.packages, hostOf(env));
  const found = reason === undefined ? await look() : undefined;
  if (found !== undefined) return found;
  throw new Error(
    `${tool.name} is not on this machine: ${reason ?? `its packages brought no ${tool.onPath}`} Or set ${tool.env} to a binary.`,
  );
}

async function unpackIntoCache({ name, packages }: DebianTool, path: string, env: NodeJS.ProcessEnv): Promise<string> {
  const [package_ = ''] = packages;
  const folder = join(cacheDir(env), `debian-${package_}`);
  const binary = join(folder, path);
  if (await isExecutable(binary)) return binary;
  await mkdir(cacheDir(env), { recursive: true });
  await withLock(
    `${folder}.lock`,
    async () => {
      if (!(await isExecutable(binary))) await unpackDebianPackage(package_, folder, hostOf(env));
    },
    () => say(`Another process is fetching ${name}; waiting for it.`),
  );
  return binary;
}

const hostOf = (env: NodeJS.ProcessEnv): DebianHost => ({ env, isRoot: process.getuid?.() === 0 });

async function findOnPath(tool: Pick<Tool, 'onPath'>, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (!tool.onPath) return undefined;
  for (const dir of (env['PATH'] ?? '').split(delimiter)) {
    const candidate = join(dir, tool.onPath);
    if (dir && dir !== projectBin && (await isExecutable(candidate))) return candidate;
  }
  return undefined;
}

async function findElsewhere({ elsewhere }: DebianTool): Promise<string | undefined> {
  const found: string[] = [];
  if (elsewhere !== undefined) for await (const path of glob(elsewhere)) found.push(path);
  return found.sort().at(-1);
}

/** Without Go a binary that any Go version built from these sources will do. Without Java no Java program starts. */
async function findInCache(tool: Tool, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const dir = cacheDir(env);
  const sources = await sourcesKey(tool);
  const version = await languageVersion(tool, env);
  if (tool.isJava === true && version === undefined) return undefined;
  const entries = version
    ? [`${sources}-${version}`]
    : (await readdir(dir).catch(() => [])).filter((entry) => entry.startsWith(`${sources}-`));
  for (const entry of entries) {
    const candidate = join(dir, entry, tool.name);
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

async function buildIntoCache(tool: Tool, env: NodeJS.ProcessEnv): Promise<string> {
  const version = await languageVersion(tool, env);
  if (!version) throw new Error(tool.isJava === true ? missingJava(tool) : missingGo(tool));
  const dir = cacheDir(env);
  const key = `${await sourcesKey(tool)}-${version}`;
  const target = join(dir, key, tool.name);
  await mkdir(join(dir, key), { recursive: true });
  const build = async (): Promise<string> => {
    if (!(await isExecutable(target))) await (tool.isJava === true ? javaBuild : goBuild)(tool, target, env);
    return target;
  };
  return withLock(join(dir, `${key}.lock`), build, () =>
    say(`Another process is building ${tool.name}; waiting for it.`),
  );
}

/** `<name>-<hash>` of everything that decides what the build yields, besides the Go version. */
export async function sourcesKey(tool: Tool, root: string = toolsDir): Promise<string> {
  const dir = join(root, tool.module);
  const hash = createHash('sha256').update(`${tool.package}\0${tool.ldflags ?? ''}\0`);
  const files = (await readdir(dir))
    .filter((file) => /^go\.(mod|sum)$|\.go$|^(pom\.xml|jars\.sha256|start\.sh)$/.test(file))
    .sort();
  for (const file of files) hash.update(`${file}\0`).update(await readFile(join(dir, file)));
  return `${tool.name}-${hash.digest('hex').slice(0, 16)}`;
}

async function languageVersion(tool: Tool, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return tool.isJava === true ? javaVersion(env) : goVersion(withToolchain(tool, env));
}

function withToolchain({ toolchain }: Tool, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return toolchain === undefined ? env : { ...env, GOTOOLCHAIN: toolchain };
}

async function goVersion(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    const { stdout } = await run('go', ['env', 'GOVERSION'], { cwd: toolsDir, env });
    return stdout.trim();
  } catch {
    return undefined; // no Go here: the caller says what that means
  }
}

/** Builds beside the target and renames, so that nobody ever starts half a binary. */
async function goBuild(tool: Tool, target: string, env: NodeJS.ProcessEnv): Promise<void> {
  const partial = `${target}.${process.pid}`;
  const started = performance.now();
  say(`Building ${tool.name} from pinned sources: ${tool.buildTakes} the first time, kept for later runs.`);
  try {
    await run('go', goArguments(tool, partial), {
      cwd: join(toolsDir, tool.module),
      env: { ...withToolchain(tool, env), CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' },
      maxBuffer: 64 * 1024 * 1024,
    });
    await rename(partial, target);
  } catch (error) {
    throw new Error(
      `go build of ${tool.name} in test/stack/tools/${tool.module} failed: ${stderrOf(error)} Set ${tool.env} to a binary to do without the build.`,
      { cause: error },
    );
  } finally {
    await rm(partial, { force: true });
  }
  say(`Built ${tool.name} in ${Math.round((performance.now() - started) / 1000)} s.`);
}

async function javaBuild(tool: Tool, target: string, env: NodeJS.ProcessEnv): Promise<void> {
  say(`Fetching ${tool.name} with Maven: ${tool.buildTakes} the first time, kept for later runs.`);
  try {
    await fetchJars(join(toolsDir, tool.module), target, env);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new Error(missingJava(tool), { cause: error });
    throw new Error(
      `Maven couldn't fetch ${tool.name} as test/stack/tools/${tool.module}/pom.xml says: ${outputOf(error)} Set ${tool.env} to an executable that starts it to do without.`,
      { cause: error },
    );
  }
}

function goArguments(tool: Tool, output: string): string[] {
  const flags = tool.ldflags ? ['-ldflags', tool.ldflags] : [];
  return ['build', '-trimpath', ...flags, '-o', output, tool.package];
}

function missingGo(tool: Tool): string {
  const path = tool.onPath ? `, put ${tool.onPath} on the PATH` : '';
  return `${tool.name} is neither on this machine nor in the cache, and there is no Go to build it. Install Go 1.26 or newer${path}, or set ${tool.env} to a binary.`;
}

function missingJava({ name, env }: Tool): string {
  return `${name} needs Java 17 or newer to run and Maven (mvn) to be fetched the first time; one of them is missing here. Install it, or set ${env} to an executable that starts it.`;
}

/** Maven says on stdout what is wrong. */
function outputOf(error: unknown): string {
  const text = error instanceof Error && 'stdout' in error ? String(error.stdout).trim() : '';
  return text === '' ? stderrOf(error) : text.split('\n').slice(-20).join('\n');
}

function stderrOf(error: unknown): string {
  const text = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  return text.trim().split('\n').slice(-20).join('\n');
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
