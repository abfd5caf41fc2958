import { createVSphere } from '../../activities/vsphere/vsphere-adapter.ts';
import type { MoRef, VCenterEndpoint, VSphereSession } from '../../activities/vsphere/port.ts';
import { readVm, vmPaths } from '../../activities/template/read-vm.ts';
import { toWireName } from '../../workflows/domain/template/names.ts';
import type { ObservedVm } from '../../workflows/domain/template/observation.ts';

const everyMs = 5;
/** The other two names are looked at once in so many rounds. */
const othersEvery = 5;

export interface Sample {
  /** Monotonic, milliseconds. */
  readonly at: number;
  readonly ref?: string;
  readonly vm?: ObservedVm;
  readonly rollback?: boolean;
  readonly temp?: boolean;
}

/** Looks at a template's name all the time through a session of its own, as its consumers do. */
export class Poller {
  readonly samples: Sample[] = [];
  readonly #names: { prod: string; temp: string; rollback: string };
  readonly #folder: MoRef;
  readonly #session: VSphereSession;
  readonly #close: () => Promise<void>;
  #running = true;
  readonly #loop: Promise<void>;

  private constructor(
    session: VSphereSession,
    folder: MoRef,
    names: { prod: string; temp: string; rollback: string },
    close: () => Promise<void>,
  ) {
    this.#session = session;
    this.#folder = folder;
    this.#names = names;
    this.#close = close;
    this.#loop = this.#run();
  }

  static async start(
    endpoint: VCenterEndpoint,
    folderPath: string,
    names: { prod: string; temp: string; rollback: string },
  ): Promise<Poller> {
    const vsphere = createVSphere({ allowInsecureTls: false });
    const session = await vsphere.open(endpoint);
    const folder = await session.findByInventoryPath(folderPath);
    if (folder === undefined) throw new Error(`no folder ${folderPath}`);
    return new Poller(session, folder, names, async () => {
      await session.close();
      await vsphere.close();
    });
  }

  async stop(): Promise<void> {
    if (!this.#running) return;
    this.#running = false;
    await this.#loop;
    await this.#close();
  }

  /** Longest time without the production name between two moments with it, in milliseconds. */
  longestGapMs(): number {
    let longest = 0;
    let last: number | undefined;
    for (const sample of this.samples) {
      if (sample.ref === undefined) continue;
      if (last !== undefined && this.#isGap(last, sample.at)) longest = Math.max(longest, sample.at - last);
      last = sample.at;
    }
    return longest;
  }

  /** References that had the production name, in order. */
  owners(): string[] {
    return this.samples.flatMap(({ ref }) => ref ?? []).filter((ref, i, all) => ref !== all[i - 1]);
  }

  #isGap(from: number, to: number): boolean {
    return this.samples.some(({ at, ref }) => at > from && at < to && ref === undefined);
  }

  async #run(): Promise<void> {
    for (let round = 0; this.#running; round++) {
      const started = performance.now();
      const sample = await this.#look(round).catch(() => undefined);
      if (sample !== undefined) this.samples.push(sample);
      const restMs = everyMs - (performance.now() - started);
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
    }
  }

  async #look(round: number): Promise<Sample> {
    const find = (name: string): Promise<MoRef | undefined> => this.#session.findChild(this.#folder, toWireName(name));
    const ref = await find(this.#names.prod);
    const at = performance.now();
    const others =
      round % othersEvery === 0
        ? {
            temp: (await find(this.#names.temp)) !== undefined,
            rollback: (await find(this.#names.rollback)) !== undefined,
          }
        : {};
    if (ref === undefined) return { at, ...others };
    const [content] = await this.#session.retrieve([ref], vmPaths).catch(() => []);
    return { at, ref: ref.value, ...others, ...(content === undefined ? {} : { vm: readVm(content, undefined).vm }) };
  }
}
