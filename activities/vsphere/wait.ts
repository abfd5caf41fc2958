import { pause } from './deadline.ts';
import type { MoRef, PropertyValue } from './port.ts';
import { filterSpec, retrieve } from './retrieve.ts';
import type { CoreCallOptions, SessionCore } from './session-core.ts';
import { isFault, messageOf } from './session-core.ts';
import type { VSphereLog } from './log.ts';

const budgets = {
  /** Most tasks of a swap end within milliseconds: ask often at first, the gap without a production name depends on it. */
  pollMs: 500,
  pollStepsMs: [0, 2, 5, 10, 20],
  pollStepMs: 50,
  /** The server's limit for one wait, and ours for its answer. */
  waitS: 20,
  waitMs: 45_000,
  cleanUpMs: 5_000,
  /** Collectors lost with their session before the wait gives up. */
  collectors: 5,
} as const;

type Props = ReadonlyMap<string, PropertyValue>;

/** What to watch and when to stop. `onDeadSession: 'fail'` for objects that die with the session. */
export interface Watch {
  readonly ref: MoRef;
  readonly paths: readonly string[];
  readonly isDone: (props: Props) => boolean;
}

/** Reads properties until they satisfy `isDone`: by polling for half a second, then by a property collector of its own. */
export async function waitForProperties(
  core: SessionCore,
  watch: Watch,
  options: CoreCallOptions,
  log: VSphereLog,
): Promise<Props> {
  const read = async (): Promise<Props> => {
    const [object] = await retrieve(core, [watch.ref], watch.paths, options);
    return object?.props ?? new Map<string, PropertyValue>();
  };
  const begun = performance.now();
  for (let step = 0; performance.now() - begun < budgets.pollMs; step += 1) {
    await pause(budgets.pollStepsMs[step] ?? budgets.pollStepMs, options.signal);
    const props = await read();
    if (watch.isDone(props)) return props;
  }
  for (let lost = 0; ; lost += 1) {
    const props = await followChanges(core, watch, read, options, log, lost < budgets.collectors);
    if (props !== undefined) return props;
  }
}

const collectorCall: CoreCallOptions = { onDeadSession: 'fail' };

/** One collector's life. Undefined: it was lost together with its session, and the caller may start over. */
async function followChanges(
  core: SessionCore,
  watch: Watch,
  read: () => Promise<Props>,
  options: CoreCallOptions,
  log: VSphereLog,
  mayStartOver: boolean,
): Promise<Props | undefined> {
  const { signal } = options;
  const { propertyCollector } = await core.content(options);
  const creating = { ...collectorCall, ...(signal === undefined ? {} : { signal }) };
  let collector: MoRef | undefined;
  try {
    collector = (await core.call('CreatePropertyCollector', { _this: propertyCollector }, options)) as MoRef;
    const spec = filterSpec([watch.ref], watch.paths);
    await core.call('CreateFilter', { _this: collector, spec, partialUpdates: false }, creating);
    let version = '';
    for (;;) {
      const waitOptions = { maxWaitSeconds: budgets.waitS };
      const args = { _this: collector, version, options: waitOptions };
      const update = await core.call('WaitForUpdatesEx', args, { ...creating, timeoutMs: budgets.waitMs });
      // Nil means "nothing new"; the state is read again all the same, in case an event was missed.
      version = (update as { version: string } | undefined)?.version ?? version;
      const props = await read();
      if (watch.isDone(props)) return props;
    }
  } catch (error) {
    const collectorLost = isFault(error, 'NotAuthenticated') || isOurs(error, collector);
    if (!collectorLost || !mayStartOver || options.onDeadSession === 'fail') throw error;
    return undefined;
  } finally {
    if (collector !== undefined) await destroy(core, collector, log);
  }
}

function isOurs(error: unknown, collector: MoRef | undefined): boolean {
  if (!isFault(error, 'ManagedObjectNotFound') || collector === undefined) return false;
  const gone = error.fields['obj'] as MoRef | undefined;
  return gone?.value === collector.value;
}

async function destroy(core: SessionCore, collector: MoRef, log: VSphereLog): Promise<void> {
  try {
    // Ends a wait that is still pending on the server, too.
    const options = { ...collectorCall, timeoutMs: budgets.cleanUpMs };
    await core.call('DestroyPropertyCollector', { _this: collector }, options);
  } catch (error) {
    log.debug({ vcenter: core.endpoint.name, error: messageOf(error) }, 'property collector not destroyed');
  }
}
