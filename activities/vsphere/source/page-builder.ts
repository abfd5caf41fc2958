import type { InstanceRecord, NetworkRecord } from '../../../workflows/domain/batch/records.ts';
import type { MoRef } from '../port.ts';
import type { InventoryPage } from '../source-port.ts';
import type { Described } from './describe-vms.ts';
import { networksOf } from './describe-vms.ts';
import { missingFacts } from './instance-record.ts';
import type { NetworkIndex } from './network-records.ts';
import type { ReadEach } from './read-each.ts';
import type { LeftOut } from './vm-candidates.ts';
import { idOf } from './vm-ref.ts';

/** Puts the pages of one reading together; what was delivered with one page is not delivered again. */
export class PageBuilder {
  readonly #networks: NetworkIndex;
  readonly #uuids = new Set<string>();
  readonly #delivered = new Set<string>();
  #warnings: InventoryPage['warnings'][number][] = [];
  #unread: string[] = [];
  #noVms: string[] = [];
  #instances: InstanceRecord[] = [];

  constructor(networks: NetworkIndex) {
    this.#networks = networks;
  }

  get isEmpty(): boolean {
    return this.#instances.length === 0 && this.#warnings.length === 0;
  }

  add(described: readonly Described[]): void {
    for (const one of described) {
      const why = one.record === undefined ? one.why : this.#problemOf(one.record);
      if (one.record === undefined || why !== undefined) this.#leaveOut(one.ref, 'Instances not imported', why ?? '');
      else this.#take(one.record);
    }
  }

  addUnread(unread: ReadEach['unread']): void {
    for (const { ref, why } of unread) this.#leaveOut(ref, 'Instances not imported', why);
  }

  addLeftOut(leftOut: readonly LeftOut[]): void {
    for (const { candidate, type, why, isNoVm } of leftOut) {
      this.#leaveOut(candidate.ref, type, `${candidate.location}: ${why}`);
      if (isNoVm) this.#noVms.push(idOf(candidate.ref));
    }
  }

  /** The page so far; the next one is empty again. */
  take(): InventoryPage {
    const page: InventoryPage = {
      instances: this.#instances,
      networks: this.#newNetworks(),
      warnings: this.#warnings,
      unread: this.#unread,
      noVms: this.#noVms,
    };
    [this.#instances, this.#warnings, this.#unread, this.#noVms] = [[], [], [], []];
    return page;
  }

  #take(record: InstanceRecord): void {
    this.#uuids.add(record.uuid);
    this.#instances.push(record);
    const message = missingFacts(record);
    if (message !== undefined) this.#warnings.push({ type: 'Instances partially imported', message });
  }

  #leaveOut(ref: MoRef, type: string, message: string): void {
    this.#warnings.push({ type, message });
    this.#unread.push(idOf(ref));
  }

  /** What only shows when everything of a VM was read. */
  #problemOf({ location, uuid, os_type, distribution_version }: InstanceRecord): string | undefined {
    if (this.#uuids.has(uuid)) return `${location}: its instance UUID ${uuid} is that of a VM before it`;
    const isUnknownWindows = os_type === 'windows' && distribution_version === '';
    return isUnknownWindows ? `${location}: the version of its Windows can't be told` : undefined;
  }

  #newNetworks(): readonly NetworkRecord[] {
    const fresh = networksOf(this.#instances, this.#networks).filter(({ uuid }) => !this.#delivered.has(uuid));
    for (const { uuid } of fresh) this.#delivered.add(uuid);
    return fresh;
  }
}
