import { createVSphere } from '../../activities/vsphere/vsphere-adapter.ts';
import type { MoRef, VCenterEndpoint, VSphereSession } from '../../activities/vsphere/port.ts';
import { readVm, vmPaths } from '../../activities/template/read-vm.ts';
import { toWireName } from '../../workflows/domain/template/names.ts';
import type { ObservedVm } from '../../workflows/domain/template/observation.ts';

const defaultEveryMs = 5;
/** The other two names are looked at once in so many rounds. */
const othersEvery = 5;

export interface Sample {
  /** Monotonic, milliseconds. */
  readonly at: number;
  readonly ref?: string;
  readonly vm?: ObservedVm;
  readonly rollback?: boolean;
  readonly temp?: boolean;
  /** Nothing has the name, and there is neither a previous template nor a finished new one that could get it. */
  readonly lost?: boolean;
}

/** Looks at a template's name all the time through a session of its own, as its consumers do. */
export class Poller {
  readonly samples: Sample[] = [];
  readonly #names: { prod: string; temp: string; rollback: string };
  readonly #folder: MoRef;
  readonly #session: VSphereSession;
  readonly #close: () => Promise<void>;
  readonly #everyMs: number;
  #running = true;
  #slowestMs = 0;
  #reading: Promise<void> | undefined;
  readonly #loop: Promise<void>;

  private constructor(
    session: VSphereSession,
    folder: MoRef,
    names: { prod: string; temp: string; rollback: string },
    close: () => Promise<void>,
    everyMs: number,
  ) {
    this.#everyMs = everyMs;
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
    everyMs = defaultEveryMs,
  ): Promise<Poller> {
    const vsphere = createVSphere({ allowInsecureTls: false });
    const session = await vsphere.open(endpoint);
    const folder = await session.findByInventoryPath(folderPath);
    if (folder === undefined) throw new Error(`no folder ${folderPath}`);
    const close = async (): Promise<void> => {
      await session.close();
      await vsphere.close();
    };
    return new Poller(session, folder, names, close, everyMs);
  }

  async stop(): Promise<void> {
    if (!this.#running) return;
    this.#running = false;
    await this.#loop;
    await this.#reading;
    await this.#close();
  }

  /**
   * Longest time from one look that was answered to the next, in milliseconds: how long this machine keeps somebody waiting who does
   * little. Nothing that takes a moment can be told to have been shorter.
   */
  get slowestMs(): number {
    return this.#slowestMs;
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

  /**
   * Bounds of how long nobody had the name when it last changed hands, in milliseconds: from miss to miss and from hit to hit.
   */
  handover(): { readonly atLeastMs: number; readonly atMostMs: number } {
    const hits = this.samples.filter(({ ref }) => ref !== undefined);
    const index = hits.findLastIndex(({ ref }, i) => i > 0 && ref !== hits[i - 1]?.ref);
    const [from, to] = [hits[index - 1]?.at ?? 0, hits[index]?.at ?? 0];
    const misses = this.samples.filter(({ at, ref }) => at > from && at < to && ref === undefined);
    return { atLeastMs: (misses.at(-1)?.at ?? 0) - (misses[0]?.at ?? 0), atMostMs: to - from };
  }

  /** References that had the production name, in order. */
  owners(): string[] {
    return this.samples.flatMap(({ ref }) => ref ?? []).filter((ref, i, all) => ref !== all[i - 1]);
  }

  #isGap(from: number, to: number): boolean {
    return this.samples.some(({ at, ref }) => at > from && at < to && ref === undefined);
  }

  async #run(): Promise<void> {
    let last: number | undefined;
    for (let round = 0; this.#running; round++) {
      const started = performance.now();
      if (last !== undefined) this.#slowestMs = Math.max(this.#slowestMs, started - last);
      const sample = await this.#look(round).catch(() => undefined);
      if (sample !== undefined) this.samples.push(sample);
      last = sample === undefined ? undefined : started;
      const restMs = this.#everyMs - (performance.now() - started);
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
    }
  }

  async #look(round: number): Promise<Sample> {
    const ref = await this.#find(this.#names.prod);
    const at = performance.now();
    const others = ref === undefined || round % othersEvery === 0 ? await this.#others() : {};
    if (ref === undefined) return { at, ...others, lost: await this.#isLost(others) };
    return this.#withProperties({ at, ref: ref.value, ...others }, ref);
  }

  /** Properties come when they come: a VM that is busy with a task must not hold the lookups up. */
  #withProperties(sample: { vm?: ObservedVm } & Sample, ref: MoRef): Sample {
    this.#reading ??= this.#read(ref).then((vm) => {
      if (vm !== undefined) sample.vm = vm;
      this.#reading = undefined;
    });
    return sample;
  }

  #find(name: string): Promise<MoRef | undefined> {
    return this.#session.findChild(this.#folder, toWireName(name));
  }

  async #others(): Promise<{ temp: boolean; rollback: boolean }> {
    const { temp, rollback } = this.#names;
    return {
      temp: (await this.#find(temp)) !== undefined,
      rollback: (await this.#find(rollback)) !== undefined,
    };
  }

  /** The lookups come one after the other: the name that seemed absent may be in place by now. */
  async #isLost(others: { readonly rollback?: boolean }): Promise<boolean> {
    if (others.rollback === true) return false;
    const temp = await this.#find(this.#names.temp);
    const isReady = temp !== undefined && (await this.#read(temp))?.marker?.state === 'ready';
    return !isReady && (await this.#find(this.#names.prod)) === undefined;
  }

  /** Undefined when the VM went away meanwhile. */
  async #read(ref: MoRef): Promise<ObservedVm | undefined> {
    const [content] = await this.#session.retrieve([ref], vmPaths).catch(() => []);
    return content === undefined ? undefined : readVm(content, undefined).vm;
  }
}
