import pLimit from 'p-limit';
import type {
  ImportHeartbeat,
  SwapOptions,
  TemplateSwapRequest,
  TemplateSwapResult,
} from '../../workflows/contracts/template.ts';
import type { Hold } from '../sim/hold.ts';
import type { RecordedRequest } from '../sim/request-log.ts';
import type { VcsimVm } from '../stack/vcsim-control.ts';
import type { OvaOptions } from './ova-builder.ts';
import type { Poller } from './poller.ts';
import type { Rig, Scenario, Swap } from './rig.ts';
import { waitFor } from './wait-for.ts';

/** Of the template that is to be replaced. */
export const oldVersion = '416.94.1';

/** Many consumers that look as often as one alone would be the load themselves. */
const pollEveryMs = 50;

/** Where a swap is stopped, and what it works with. */
export interface HeldStep {
  readonly hold: (swap: HeldSwap) => Hold;
  readonly ova?: Partial<OvaOptions>;
  readonly options?: SwapOptions;
  readonly edit?: (request: TemplateSwapRequest) => TemplateSwapRequest;
  /** A consumer looks at the name all the time. */
  readonly watched?: true;
  /** The moment is there when this is true as well. */
  readonly until?: (swap: HeldSwap) => Promise<boolean>;
  /** Its workflow is terminated after the kill, and the same request is started anew. */
  readonly terminated?: true;
}

type Matcher = (request: RecordedRequest) => boolean;

/** A swap that stands still at one step; in a folder and to a version of its own, so that its calls can be told from others'. */
export class HeldSwap {
  readonly rig: Rig;
  readonly scenario: Scenario;
  readonly step: HeldStep;
  /** Its target's. */
  readonly version: string;
  /** The old template. */
  readonly previous: string;
  readonly #folder: string;
  readonly #request: TemplateSwapRequest;
  #swap: Swap | undefined;
  #hold: Hold | undefined;
  #call: RecordedRequest | undefined;
  #outcome: Promise<TemplateSwapResult> | undefined;
  poller: Poller | undefined;
  /** What the dead workers left in its folder. */
  left: readonly VcsimVm[] = [];

  private constructor(
    step: HeldStep,
    scenario: Scenario,
    facts: { version: string; previous: string; folder: string; request: TemplateSwapRequest },
  ) {
    this.rig = scenario.rig;
    this.step = step;
    this.scenario = scenario;
    this.version = facts.version;
    this.previous = facts.previous;
    this.#folder = facts.folder;
    this.#request = facts.request;
  }

  /** Its folder, template and OVA; nothing runs yet. */
  static async prepare(rig: Rig, nth: number, step: HeldStep): Promise<HeldSwap> {
    const version = `417.94.${100 + nth}`;
    const scenario = await rig.scenario();
    const ova = await scenario.ova(version, step.ova);
    const previous = await scenario.template(scenario.names.prod, oldVersion);
    const folder = (await rig.vcsim.control.find(scenario.folder))?.ref ?? '';
    const plain = scenario.request({ version, ova, ...(step.options === undefined ? {} : { options: step.options }) });
    return new HeldSwap(step, scenario, { version, previous, folder, request: step.edit?.(plain) ?? plain });
  }

  /** Runs until its step is reached. */
  async run(): Promise<void> {
    if (this.step.watched) this.poller = await this.scenario.poller(undefined, pollEveryMs);
    const hold = this.step.hold(this);
    this.#hold = hold;
    hold.arrived.then(
      (request) => (this.#call = request),
      () => undefined, // the wait below says what did not come
    );
    await this.start();
    const { until = () => Promise.resolve(true) } = this.step;
    const isThere = async (): Promise<boolean> => this.#call !== undefined && (await until(this));
    await waitFor(`the step of the swap to ${this.version}`, isThere, { timeoutMs: 120_000 });
  }

  async start(): Promise<void> {
    this.#swap = await this.scenario.start(this.#request);
    this.#outcome = this.#swap.result();
    this.#outcome.catch(() => undefined); // asked for by the test
  }

  async terminate(): Promise<void> {
    await this.#swap?.handle.terminate('a test');
  }

  /** Lets the held call go when its connection is gone, so that nothing comes of it. */
  async isOver(): Promise<void> {
    // Nobody reads from an upload that is held, so its end shows only when the bytes on their way may pass.
    if (this.#call?.kind === 'nfc') this.#hold?.release();
    await waitFor('the end of the held connection', () => this.#call?.end);
    this.#hold?.release();
  }

  async result(): Promise<TemplateSwapResult> {
    if (this.#outcome === undefined) throw new Error('not started');
    return await this.#outcome;
  }

  /** What its import last told Temporal. */
  async heartbeat(): Promise<ImportHeartbeat | undefined> {
    const description = await this.#swap?.handle.describe();
    const data = description?.raw.pendingActivities?.[0]?.heartbeatDetails?.payloads?.[0]?.data;
    return data == null ? undefined : (JSON.parse(Buffer.from(data).toString()) as ImportHeartbeat);
  }

  /** What was left, in the words of the state table: `prod old, temp importing`. */
  found(): string {
    const roles = Object.entries(this.scenario.names);
    const words = this.left.map(({ name, template, version, extraConfig }) => {
      const role = roles.find(([, of]) => of === name)?.[0] ?? name;
      const state = extraConfig['templateSwap.state'];
      if (role !== 'temp') return `${role} ${version === oldVersion ? 'old' : 'new'}`;
      return `temp ${template ? 'template' : state}`;
    });
    return words.sort().join(', ');
  }

  leftAs(role: 'prod' | 'temp' | 'rollback'): string | undefined {
    return this.left.find(({ name }) => name === this.scenario.names[role])?.ref;
  }

  readonly inFolder: Matcher = ({ body }) => body.includes(`>${this.#folder}<`);
  readonly onPrevious: Matcher = ({ object }) => object?.value === this.previous;
  /** The new VM, known from when its marker gets ready. */
  readonly onNext: Matcher = ({ object }) => {
    const marking = this.rig.proxy
      .requests()
      .find(({ method, body }) => method === 'ReconfigVM_Task' && body.includes(`>${this.version}<`));
    return marking !== undefined && object?.value === marking.object?.value;
  };
  /** By the session that imports. */
  readonly ofImport: Matcher = ({ session }) => this.imports().some((call) => call.session === session);

  says(text: string): Matcher {
    return ({ body }) => body.includes(text);
  }

  imports(): readonly RecordedRequest[] {
    return this.requests('ImportVApp', this.inFolder);
  }

  requests(method: string, matches: Matcher): readonly RecordedRequest[] {
    return this.rig.proxy.requests().filter((request) => request.method === method && matches(request));
  }
}

/** All swaps run to their steps, both workers are killed once, new ones take over. Answers when every swap is over. */
export async function crash<K extends string>(
  rig: Rig,
  steps: Readonly<Record<K, HeldStep>>,
  options: {
    readonly parallel: number;
    /** While nobody works: what was left is known, the new workers aren't there. */
    readonly meanwhile: (swaps: Readonly<Record<K, HeldSwap>>) => Promise<void>;
  },
): Promise<{ readonly swaps: Readonly<Record<K, HeldSwap>>; readonly killedAt: number }> {
  const entries: [K, HeldSwap][] = [];
  for (const [key, step] of Object.entries<HeldStep>(steps))
    entries.push([key as K, await HeldSwap.prepare(rig, entries.length, step)]);
  const all = entries.map(([, swap]) => swap);
  const swaps = Object.fromEntries(entries) as Record<K, HeldSwap>;
  const limit = pLimit(options.parallel);
  await Promise.all(all.map((swap) => limit(() => swap.run())));

  await Promise.all([rig.killWorker('control'), rig.killWorker('transfer')]);
  const killedAt = performance.now();
  await Promise.all(all.map((swap) => swap.isOver()));
  for (const swap of all) swap.left = await swap.scenario.vms();
  const terminated = all.filter(({ step }) => step.terminated);
  await Promise.all(terminated.map((swap) => swap.terminate()));
  await options.meanwhile(swaps);
  await Promise.all([rig.startWorker('control'), rig.startWorker('transfer')]);
  await Promise.all(terminated.map((swap) => swap.start()));

  await Promise.allSettled(all.map((swap) => swap.result()));
  await Promise.all(all.flatMap(({ poller }) => poller?.stop() ?? []));
  return { swaps, killedAt };
}
