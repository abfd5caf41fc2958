import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import type { ComposeProject, ComposeService } from './compose-file.ts';
import { ContainerView } from './container-view.ts';
import type { NativeImages } from './native-images.ts';
import { NativeService, type NativeCommand } from './native-service.ts';

/**
 * A compose project without containers: each service is the program that its image has, with the command, environment, files,
 * order and restarts that the file gives it.
 */
export class NativeProject {
  readonly #project: ComposeProject;
  readonly #images: NativeImages;
  readonly #dir: string;
  readonly #net = ['127', 10 + Math.floor(Math.random() * 240), Math.floor(Math.random() * 256)].join('.');
  readonly #views = new Map<string, ContainerView>();
  readonly #running = new Map<string, NativeService>();
  readonly #ready = new Map<string, Promise<void>>();

  /** @param dir for its volumes and logs */
  constructor(project: ComposeProject, images: NativeImages, dir: string) {
    this.#project = project;
    this.#images = images;
    this.#dir = dir;
  }

  address(name: string): string {
    return `${this.#net}.${Object.keys(this.#project.services).indexOf(name) + 1}`;
  }

  /** These services, or all, with what they depend on in the order of the file. Resolves when all are healthy or completed. */
  async up(...names: readonly string[]): Promise<void> {
    const wanted = names.length === 0 ? Object.keys(this.#project.services) : names;
    await Promise.all(wanted.map((name) => this.#startOnce(name)));
  }

  /** Runs a one-shot once more, as another `docker compose up` does. */
  async again(name: string): Promise<void> {
    this.#ready.delete(name);
    await this.#startOnce(name);
  }

  service(name: string): NativeService {
    const service = this.#running.get(name);
    if (service === undefined) throw new Error(`${name} was not started.`);
    return service;
  }

  async isHealthy(name: string): Promise<boolean> {
    const [kind, ...test] = this.#service(name).healthcheck?.test ?? ['NONE'];
    if (kind !== 'CMD') throw new Error(`${name} has no health check that is a command.`);
    const view = await this.#view(name);
    const [command = '', ...args] = test.map((word) => view.translate(word));
    // Images made of Alpine have it, this machine need not.
    if (command === 'wget') return (await fetch(args.at(-1) ?? '')).ok;
    const { env } = await this.#command(name);
    await promisify(execFile)(command, args, { env });
    return true;
  }

  async becomesHealthy(name: string): Promise<void> {
    const check = (): Promise<boolean> => this.isHealthy(name).catch(() => false);
    await waitFor(`${name} to be healthy`, check, { timeoutMs: 2 * patienceMs, intervalMs: 200 }).catch(
      (cause: unknown) => {
        throw new Error(`${name} is not healthy. Its last output:\n${this.service(name).output()}`, { cause });
      },
    );
  }

  /** Dependents end first. */
  async down(): Promise<void> {
    const ended = new Map<string, Promise<void>>();
    const end = async (name: string): Promise<void> => {
      const dependents = [...this.#running.keys()].filter((one) => name in (this.#service(one).depends_on ?? {}));
      await Promise.all(dependents.map(endOnce));
      await this.#running.get(name)?.stop(spanMs(this.#service(name).stop_grace_period));
    };
    const endOnce = (name: string): Promise<void> => {
      const ending = ended.get(name) ?? end(name);
      ended.set(name, ending);
      return ending;
    };
    await Promise.all([...this.#running.keys()].map(endOnce));
  }

  #service(name: string): ComposeService {
    const service = this.#project.services[name];
    if (service === undefined) throw new Error(`The compose file has no service ${name}.`);
    return service;
  }

  /** Made once, when a container would be. */
  async #view(name: string): Promise<ContainerView> {
    const place = { dir: this.#dir, address: (one: string) => this.address(one) };
    const view = this.#views.get(name) ?? (await ContainerView.of(this.#project, name, place));
    this.#views.set(name, view);
    return view;
  }

  #startOnce(name: string): Promise<void> {
    const starting = this.#ready.get(name) ?? this.#start(name);
    this.#ready.set(name, starting);
    return starting;
  }

  async #start(name: string): Promise<void> {
    const { depends_on: needed = {}, healthcheck } = this.#service(name);
    // What is of another profile is no dependency; the parser leaves it in where it isn't required.
    const others = Object.keys(needed).filter((other) => other in this.#project.services);
    await Promise.all(others.map((other) => this.#startOnce(other)));
    const service = new NativeService(await this.#command(name));
    this.#running.set(name, service);
    if (healthcheck !== undefined) await this.becomesHealthy(name);
    else if (!(await service.completed))
      throw new Error(`${name} was stopped before it completed:\n${service.output()}`);
  }

  async #command(name: string): Promise<NativeCommand> {
    const service = this.#service(name);
    const image = this.#images.of(service);
    const view = await this.#view(name);
    const here = (words: readonly string[] | null | undefined): readonly string[] | undefined =>
      words?.map((word) => view.translate(word));
    const [command = '', ...args] = [
      ...(here(service.entrypoint) ?? image.entrypoint ?? []),
      ...(here(service.command) ?? []),
    ];
    const isConfined = command === 'node' && service.read_only === true;
    return {
      name,
      command,
      args: isConfined ? [...confinedTo(view.writable), ...args] : args,
      cwd: image.cwd,
      env: {
        PATH: this.#images.path,
        HOME: view.tmp,
        TMPDIR: view.tmp,
        NATIVE_ADDRESS: this.address(name),
        ...view.environment({ ...image.env, ...service.environment }),
      },
      restart: service.restart,
      prepare: async () => await image.prepare?.(view.mounts),
      logFile: join(this.#dir, `${name}.log`),
    };
  }
}

/** Node itself refuses what a read-only file system would. */
const confinedTo = (writable: readonly string[]): readonly string[] => [
  ...['--permission', '--allow-fs-read=*', '--allow-addons', '--allow-worker'],
  ...writable.map((path) => `--allow-fs-write=${path}`),
];

/** `1m0s` in milliseconds. */
export function spanMs(text = '10s'): number {
  const [, minutes = '0', seconds = '0'] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? [];
  return (Number(minutes) * 60 + Number(seconds)) * 1000;
}
