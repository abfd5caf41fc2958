import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { secretTarget, type ComposeProject, type ComposeService } from './compose-file.ts';

/** Where things of a project are on this machine. */
export interface NativePlace {
  readonly dir: string;
  /** Each service has one of its own on loopback, as it has one in a network. */
  address(service: string): string;
}

/** What a service sees in its container, and what that is here. */
export class ContainerView {
  /** Native path by path in the container. */
  readonly mounts: ReadonlyMap<string, string>;
  /** Native paths that it may write to. */
  readonly writable: readonly string[];
  /** Native path of its `/tmp`. */
  readonly tmp: string;
  readonly #hosts: ReadonlyMap<string, string>;
  readonly #address: string;

  private constructor(
    paths: Pick<ContainerView, 'mounts' | 'writable' | 'tmp'>,
    hosts: ReadonlyMap<string, string>,
    address: string,
  ) {
    this.mounts = paths.mounts;
    this.writable = paths.writable;
    this.tmp = paths.tmp;
    this.#hosts = hosts;
    this.#address = address;
  }

  static async of(project: ComposeProject, name: string, place: NativePlace): Promise<ContainerView> {
    const service = project.services[name];
    if (service === undefined) throw new Error(`The compose file has no service ${name}.`);
    const own = join(place.dir, name);
    const tmp = join(own, 'tmp');
    await mkdir(tmp, { recursive: true });
    const mounts = new Map<string, string>();
    const writable = service.tmpfs?.includes('/tmp') === true ? [tmp] : [];
    for (const { type, source, target, read_only: isReadOnly = false } of service.volumes ?? []) {
      const path = type === 'bind' ? source : join(place.dir, 'volumes', source);
      if (type === 'volume') await mkdir(path, { recursive: true });
      mounts.set(target, path);
      if (!isReadOnly) writable.push(path);
    }
    for (const secret of service.secrets ?? [])
      mounts.set(secretTarget(secret), project.secrets?.[secret.source]?.file ?? '');
    const view = new ContainerView({ mounts, writable, tmp }, hostsOf(project, service, place), place.address(name));
    for (const { source, target = `/${source}` } of service.configs ?? []) {
      const text = await readFile(project.configs[source]?.file ?? '', 'utf8');
      // The addresses in it are those of others.
      await writeFile(join(own, source), view.#replace(text, view.#paths));
      mounts.set(target, join(own, source));
    }
    return view;
  }

  /** Replaces paths of the container, `host:` and addresses that mean the container itself. */
  translate(text: string): string {
    const hosts = [...this.#hosts.keys()].map((host) => `(?<![\\w./-])${escaped(host)}(?=:)`);
    return this.#replace(text, [...this.#paths, ...hosts, String.raw`\b(?:0\.0\.0\.0|127\.0\.0\.1)\b`]);
  }

  environment(variables: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
    const isHost = (name: string): boolean => /_(HOST|SEEDS)$/.test(name);
    const here = ([name, value]: [string, string]): [string, string] => [
      name,
      isHost(name) ? (this.#hosts.get(value) ?? value) : this.translate(value),
    ];
    return Object.fromEntries(Object.entries(variables).map(here));
  }

  /** Patterns of what is mounted, the longest first. */
  get #paths(): readonly string[] {
    return [...this.mounts.keys()].sort((a, b) => b.length - a.length).map(escaped);
  }

  #replace(text: string, patterns: readonly string[]): string {
    if (patterns.length === 0) return text;
    const known = new RegExp(patterns.join('|'), 'g');
    return text.replace(known, (found) => this.mounts.get(found) ?? this.#hosts.get(found) ?? this.#address);
  }
}

/** Addresses by the names that a service sees: of those that share a network with it. */
function hostsOf(
  project: ComposeProject,
  { networks }: ComposeService,
  place: NativePlace,
): ReadonlyMap<string, string> {
  const hosts = new Map<string, string>();
  for (const [other, { networks: joined }] of Object.entries(project.services))
    for (const [network, settings] of Object.entries(joined)) {
      if (!(network in networks)) continue;
      for (const host of [other, ...(settings?.aliases ?? [])]) hosts.set(host, place.address(other));
    }
  return hosts;
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
