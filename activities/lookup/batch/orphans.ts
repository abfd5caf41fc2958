import type { BatchLookupAnswer, Orphan } from '../../../workflows/contracts/batch-lookup.ts';
import type { InstanceRecord } from '../../../workflows/domain/batch/records.ts';
import type { BatchDeps } from '../../batch/deps.ts';
import { toOperationError } from '../../failures.ts';
import { toTargetOperationError } from '../../incus/operation-error.ts';
import type { OwnedInstance } from '../../incus/port.ts';
import { toVSphereOperationError } from '../../vsphere/operation-error.ts';
import { cutToPage } from '../page.ts';
import { openEntries, type OpenEntry } from './open-entries.ts';

type OrphansAnswer = Extract<BatchLookupAnswer, { what: 'orphans' }>;

/** Instances with our marks that no entry in the queue stands behind. */
export async function orphansOf(deps: BatchDeps): Promise<OrphansAnswer> {
  const entries = await openEntries(deps.temporal);
  const unread: string[] = [];
  const found: { readonly target: string; readonly owned: OwnedInstance }[] = [];
  for (const target of Object.keys(deps.config.file.targets)) {
    try {
      const all = await (await deps.target(target)).listOwned();
      found.push(...all.map((owned) => ({ target, owned })));
    } catch (err) {
      unread.push(`target ${target}: ${toOperationError(err, [toTargetOperationError]).message}`);
    }
  }
  const left = found.filter(({ owned: { marks } }) => entries.get(marks.uuid)?.batch !== marks.batch);
  const sources = new Sources(deps);
  const orphans = await Promise.all(
    left.map(async ({ target, owned }) =>
      orphanOf(target, owned, entries.get(owned.marks.uuid), await sources.find(owned.marks)),
    ),
  );
  const shown = cutToPage(orphans.sort(inOrder));
  return { what: 'orphans', orphans: shown, unread, truncated: shown.length < orphans.length };
}

function orphanOf(
  target: string,
  { project, name, status, marks }: OwnedInstance,
  entry: OpenEntry | undefined,
  seen: InstanceRecord | 'gone' | undefined,
): Orphan {
  const { uuid, batch, attempt, source, running: ran } = marks;
  const sourcePower = seen === undefined || seen === 'gone' ? undefined : seen.running ? 'on' : 'off';
  return {
    ...{ target, project, name, status, uuid, batch, attempt, source, ran },
    ...(sourcePower === undefined ? {} : { sourcePower }),
    why: whyOf({ ran, seen, batch, entry }),
  };
}

function whyOf({
  ran,
  seen,
  batch,
  entry,
}: {
  readonly ran: boolean;
  readonly seen: InstanceRecord | 'gone' | undefined;
  readonly batch: string;
  readonly entry: OpenEntry | undefined;
}): string {
  const owner =
    entry === undefined ? 'no entry stands behind it' : `its VM is in batch ${entry.batch} now, not in ${batch}`;
  if (seen === 'gone') return `${owner}; its source has no such VM any more`;
  if (seen !== undefined && ran && !seen.running)
    return `${owner}, and its source is off that was on: adopt it, or switch the source on`;
  return owner;
}

function inOrder(a: Orphan, b: Orphan): number {
  const key = ({ target, project, name }: Orphan): string => `${target}/${project}/${name}`;
  return key(a) < key(b) ? -1 : 1;
}

/** Of one source. Not whole: among the VMs that could not be read any may be the one that is looked for. */
interface Seen {
  readonly byUuid: ReadonlyMap<string, InstanceRecord>;
  readonly isWhole: boolean;
}

/** Source VMs by uuid; each source is read once. */
class Sources {
  readonly #deps: BatchDeps;
  readonly #known = new Map<string, Promise<Seen | undefined>>();

  constructor(deps: BatchDeps) {
    this.#deps = deps;
  }

  /** Undefined: it can't be told. */
  async find(vm: { readonly source: string; readonly uuid: string }): Promise<InstanceRecord | 'gone' | undefined> {
    const known = this.#known.get(vm.source) ?? this.#read(vm.source);
    this.#known.set(vm.source, known);
    const seen = await known;
    return seen?.byUuid.get(vm.uuid) ?? (seen?.isWhole === true ? 'gone' : undefined);
  }

  async #read(source: string): Promise<Seen | undefined> {
    try {
      const { instances, unread, noVms } = await this.#deps.inventories.of(source);
      return {
        byUuid: new Map(instances.map((instance) => [instance.uuid, instance])),
        isWhole: unread.length === noVms.length,
      };
    } catch (err) {
      this.#deps.log.warn('a source could not be read for the list of orphans', {
        source,
        reason: toOperationError(err, [toVSphereOperationError]).message,
      });
      return undefined;
    }
  }
}
