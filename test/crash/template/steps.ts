import type { Hold } from '../../sim/hold.ts';
import type { RecordedRequest } from '../../sim/request-log.ts';
import type { HeldStep, HeldSwap } from '../../support/held-swap.ts';
import { bigDisk } from '../../support/ova-builder.ts';
import { waitFor } from '../../support/wait-for.ts';

const bigSize = 8 * 1024 * 1024;

type Matcher = (request: RecordedRequest) => boolean;
type At = 'call' | 'answer';

const all =
  (...matchers: readonly Matcher[]): Matcher =>
  (request) =>
    matchers.every((matches) => matches(request));

/** Stops the first matching call, before it is carried out or (`answer`) after it. */
const at =
  (method: string, match: (swap: HeldSwap) => Matcher, when: At = 'call') =>
  (swap: HeldSwap): Hold =>
    swap.rig.proxy.hold({ method, match: match(swap) }, when);

const toName =
  (role: 'prod' | 'rollback') =>
  (swap: HeldSwap): Matcher =>
    swap.says(`<newName>${swap.scenario.names[role]}<`);

const renameAside = (when: At): HeldStep['hold'] =>
  at('Rename_Task', (swap) => all(swap.onPrevious, toName('rollback')(swap)), when);
const renameIn = (when: At): HeldStep['hold'] =>
  at('Rename_Task', (swap) => all(swap.onNext, toName('prod')(swap)), when);

/** The second rename is refused, so the old template is to get its name back. */
const giveBack =
  (when: At): HeldStep['hold'] =>
  (swap) => {
    swap.rig.proxy.addRule({ method: 'Rename_Task', match: swap.onNext, action: 'fault', fault: 'InvalidState' });
    return at('Rename_Task', () => all(swap.onPrevious, toName('prod')(swap)), when)(swap);
  };

const once =
  (swap: HeldSwap, method: string, matches: Matcher): Matcher =>
  () =>
    swap.requests(method, matches).some(({ end }) => end);

/** The look at the imported VM, when its lease is complete. */
const afterImport = (swap: HeldSwap): Matcher =>
  all(swap.inFolder, swap.ofImport, once(swap, 'HttpNfcLeaseComplete', swap.ofImport));

/** The reading of the server's times, when both renames are over. */
const afterRenames = (swap: HeldSwap): Matcher =>
  all(swap.says(`>${swap.previous}<`), swap.says('>recentTask<'), once(swap, 'Rename_Task', swap.onNext));

function inUpload({ rig }: HeldSwap): Hold {
  const isBig = ({ headers }: RecordedRequest): boolean => headers['content-length'] === String(bigSize);
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  rig.proxy.addNfcRule({ action: 'stall', afterBytes: bigSize / 2, until, match: isBig });
  const half = (): RecordedRequest | undefined =>
    rig.proxy.requests().find((call) => call.kind === 'nfc' && isBig(call) && call.bytes >= bigSize / 2);
  return { arrived: waitFor('half of the upload', half, { timeoutMs: 60_000 }), release };
}

/** Two tags and a setting: what a new template gets before it is one. */
export const tags = ['crash/one', 'crash/two'];

/** What the machine of all workers dies in, by name; `downloads` serves OVAs by their path. */
export const stepsOf = (downloads: string) =>
  ({
    preflight: { hold: at('FindByInventoryPath', (swap) => swap.says(`>${swap.scenario.folder}<`), 'answer') },
    source: {
      // The first look at the temp name is the workflow's, the second one the import's.
      hold: (swap) =>
        swap.rig.proxy.hold({
          method: 'FindChild',
          match: all(swap.inFolder, swap.says(`>${swap.scenario.names.temp}<`)),
          nth: 2,
        }),
      edit: ({ source, ...request }) => ({
        ...request,
        source: { kind: 'http', url: `${downloads}${'path' in source ? source.path : ''}`, sha256: source.sha256 },
      }),
    },
    spec: { hold: at('CreateImportSpec', (swap) => swap.says(`Version&gt;${swap.version}&lt;`), 'answer') },
    imported: { hold: at('ImportVApp', (swap) => swap.inFolder, 'answer') },
    upload: { hold: inUpload, ova: { disks: [bigDisk(bigSize, 'pattern')] } },
    lastByte: { hold: at('HttpNfcLeaseComplete', (swap) => swap.ofImport) },
    complete: { hold: at('HttpNfcLeaseComplete', (swap) => swap.ofImport, 'answer') },
    completeTold: {
      hold: at('FindChild', afterImport),
      until: async (swap) => (await swap.heartbeat())?.phase === 'completed',
    },
    someTags: {
      hold: ({ rig }) => rig.proxy.hold({ method: 'REST tag-association attach', nth: 2 }),
      options: { tags, annotation: 'made by a test' },
    },
    marker: { hold: at('ReconfigVM_Task', (swap) => swap.onNext, 'answer') },
    flag: { hold: at('MarkAsTemplate', (swap) => swap.onNext, 'answer') },
    asideAsked: { hold: renameAside('call'), watched: true },
    asideUnknown: { hold: renameAside('answer'), watched: true },
    aside: { hold: renameIn('call'), watched: true },
    inUnknown: { hold: renameIn('answer'), watched: true },
    renamed: { hold: at('RetrievePropertiesEx', afterRenames), watched: true },
    destroyAsked: { hold: at('Destroy_Task', (swap) => swap.onPrevious) },
    destroyUnknown: { hold: at('Destroy_Task', (swap) => swap.onPrevious, 'answer') },
    destroyed: {
      hold: at('FindChild', (swap) => all(swap.inFolder, once(swap, 'Destroy_Task', swap.onPrevious))),
    },
    backAsked: { hold: giveBack('call'), watched: true },
    backUnknown: { hold: giveBack('answer'), watched: true },
    newRunImport: { hold: at('ImportVApp', (swap) => swap.inFolder, 'answer'), terminated: true },
    newRunFlag: { hold: at('MarkAsTemplate', (swap) => swap.onNext), terminated: true },
    newRunBetween: { hold: renameIn('call'), terminated: true, watched: true },
    newRunRenamed: { hold: renameIn('answer'), terminated: true, watched: true },
  }) as const satisfies Readonly<Record<string, HeldStep>>;

export type StepName = keyof ReturnType<typeof stepsOf>;
