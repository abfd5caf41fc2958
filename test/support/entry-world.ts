import { randomUUID } from 'node:crypto';
import type { CopyPassResult, PassMode, PassScope } from '../../workflows/contracts/batch.ts';
import type { EntryScope, PassDisk } from '../../workflows/contracts/batch-activities.ts';
import type { Finding, InstanceOverrides, InstanceRecord, Placement } from '../../workflows/domain/batch/records.ts';
import { isOwnSnapshot, snapshotName } from '../../workflows/domain/batch/snapshot-names.ts';
import { aDisk, aPlacement, aVm, rootDisk } from '../unit/batch/record-builders.ts';

/** A VM at its source. What is not readonly is for tests to change as its owner would. */
export interface SourceVm {
  record: InstanceRecord;
  power: 'on' | 'off';
  isGone: boolean;
  /** Grows with everything that its guest writes. */
  version: number;
  snapshots: string[];
  overrides: InstanceOverrides;
  /** Its owner agrees that what it writes late is lost. */
  isOldCopyFine: boolean;
  /** Its guest has to be adapted. */
  needsAdapting: boolean;
  /** What the next final checks find, and all after them until a test says otherwise. */
  finding?: Finding;
  /** Why it can't begin. */
  blocked?: string;
  constraint?: { readonly name: string; readonly minBootMs: number };
  placement: Placement;
  /** We have switched it off and not on again. */
  isOurDowntime: boolean;
  /** The pass that copies. */
  openPass?: { readonly number: number; readonly mode: PassMode };
  /** A pass with the source off is done. */
  isFinallyCopied: boolean;
}

/** An instance at the target. */
export interface TargetVm {
  readonly uuid: string;
  readonly attempt: number;
  /** Disk → version of the source that it holds. */
  readonly disks: Map<string, number>;
  /** Number of the last pass that has ended: the fence that it carries. */
  lastPass: number;
  isAdapted: boolean;
  isConfigured: boolean;
  isRunning: boolean;
  /** It has no marks any more. */
  isReleased: boolean;
}

export interface JournalLine {
  /** Epoch milliseconds of the server. */
  readonly at: number;
  readonly vm: string;
  readonly what: string;
}

/** Somebody else's instance has the name. */
export class ForeignInstance extends Error {}

/** A far side would have lost data, or two guests would have run: the workflow is wrong. */
export class Breach extends Error {}

/**
 * Source and target of batch migrations in memory. It is strict: what must never be asked for fails and is remembered in
 * `breaches`; what happened, and in which order, is in `journal`.
 */
export class EntryWorld {
  readonly journal: JournalLine[] = [];
  readonly breaches: string[] = [];
  readonly #vms = new Map<string, SourceVm>();
  readonly #targets = new Map<string, TargetVm>();

  /** A running VM with one verified disk. */
  add(
    name: string,
    over: Partial<Omit<SourceVm, 'record'>> & { readonly record?: Partial<InstanceRecord> } = {},
  ): SourceVm {
    const uuid = randomUUID();
    const record = aVm({
      uuid,
      name,
      source_specific_id: `VirtualMachine:${name}`,
      location: `/dc1/vm/${name}`,
      disks: [aDisk()],
      ...over.record,
    });
    const vm: SourceVm = {
      power: record.running ? 'on' : 'off',
      isGone: false,
      version: 1,
      snapshots: [],
      overrides: {},
      isOldCopyFine: false,
      needsAdapting: false,
      placement: aPlacement({ storage_pools: { [rootDisk]: 'fast' }, running: record.running }),
      isOurDowntime: false,
      isFinallyCopied: false,
      ...over,
      record,
    };
    this.#vms.set(uuid, vm);
    return vm;
  }

  /** An empty world again. */
  clear(): void {
    this.#vms.clear();
    this.#targets.clear();
    this.journal.length = 0;
  }

  vm(uuid: string): SourceVm {
    const vm = this.#vms.get(uuid);
    if (vm === undefined) throw new Error(`no VM ${uuid} in this world`);
    return vm;
  }

  /** With the marks of this entry and attempt, or of any of its attempts. */
  target(scope: { readonly uuid: string; readonly attempt?: number }): TargetVm | undefined {
    return [...this.#targets.values()].find(
      ({ uuid, attempt, isReleased }) =>
        uuid === scope.uuid && !isReleased && (scope.attempt === undefined || attempt === scope.attempt),
    );
  }

  /** Finished and released, under its name. */
  finished(vm: SourceVm): TargetVm | undefined {
    return [...this.#targets.values()].find(({ uuid, isReleased }) => uuid === vm.record.uuid && isReleased);
  }

  /** Somebody else's instance. */
  occupy(name: string): void {
    this.#targets.set(`tgt/p1/${name}`, {
      uuid: 'somebody-else',
      attempt: 0,
      disks: new Map(),
      lastPass: 0,
      isAdapted: false,
      isConfigured: false,
      isRunning: true,
      isReleased: true,
    });
  }

  /** Its guest writes; only a running one can. */
  write(vm: SourceVm): void {
    if (vm.power !== 'on') throw new Error(`${vm.record.name} is off and writes nothing`);
    vm.version += 1;
  }

  /** What happened to a VM so far. */
  of(vm: SourceVm): readonly JournalLine[] {
    return this.journal.filter((line) => line.vm === vm.record.name);
  }

  /** In words only. */
  story(vm: SourceVm): readonly string[] {
    return this.of(vm).map(({ what }) => what);
  }

  // Source

  powerOff(uuid: string, at: number): void {
    const vm = this.vm(uuid);
    if (vm.power === 'on') vm.isOurDowntime = true;
    vm.power = 'off';
    this.#note(at, vm, 'source off');
  }

  powerOn(uuid: string, at: number): { readonly gone: boolean } {
    const vm = this.vm(uuid);
    if (vm.isGone) return { gone: true };
    if ([...this.#targets.values()].some((target) => target.uuid === uuid && target.isRunning))
      this.#breach(`${vm.record.name}: source on while its target runs`);
    vm.power = 'on';
    vm.isOurDowntime = false;
    vm.isFinallyCopied = false;
    this.#note(at, vm, 'source on');
    return { gone: false };
  }

  // Copy

  beginPass(
    scope: PassScope,
    mode: PassMode,
    at: number,
  ): { readonly snapshot: string; readonly disks: readonly PassDisk[]; readonly finding?: Finding } {
    const vm = this.vm(scope.uuid);
    const what = `${vm.record.name}: pass ${scope.pass}`;
    const { lastPass } = this.#owned(scope, what);
    if (vm.openPass !== undefined && vm.openPass.number !== scope.pass)
      this.#breach(`${what} begins while pass ${vm.openPass.number} is open`);
    if (vm.openPass === undefined && scope.pass <= lastPass) this.#breach(`${what} begins after it ended`);
    if (mode === 'final' && vm.power !== 'off') this.#breach(`${what} is final and the source is on`);
    vm.snapshots = vm.snapshots.filter((name) => !isOwnSnapshot(name, scope.uuid));
    const snapshot = mode === 'final' ? '' : snapshotName(scope.uuid, scope.pass);
    if (snapshot !== '') vm.snapshots.push(snapshot);
    vm.openPass = { number: scope.pass, mode };
    this.#note(at, vm, `pass ${scope.pass} (${mode})`);
    const disks = vm.record.disks.map(({ name, capacity }, index) => ({
      name,
      index,
      key: 2000 + index,
      capacity,
      changeId: vm.record.background_import ? `cid/${vm.version}` : '',
    }));
    return { snapshot, disks, ...this.#disksChanged(scope, vm) };
  }

  #disksChanged({ baseline }: PassScope, { record }: SourceVm): { readonly finding?: Finding } {
    const [expected, found] = [baseline.disks, record.disks].map((disks) =>
      disks.map(({ name, capacity }) => `${name} ${capacity}`).join(', '),
    );
    if (expected === found) return {};
    const message = `the disks of ${record.name} have changed`;
    return { finding: { code: 'DISKS_CHANGED', message, expected: expected ?? '', found: found ?? '' } };
  }

  copied(scope: PassScope, disk: PassDisk, since: string, at: number): CopyPassResult['bytes'] {
    const vm = this.vm(scope.uuid);
    const what = `${vm.record.name}: ${disk.name} of pass ${scope.pass}`;
    if (vm.openPass?.number !== scope.pass) this.#breach(`${what} is written after its pass ended`);
    const target = this.#owned(scope, what);
    if (target.isRunning) this.#breach(`${what} is written while the target runs`);
    const version = versionOf(disk.changeId) ?? vm.version;
    if (since !== '' && target.isAdapted) this.#breach(`${what}: only changes go to a disk that was adapted`);
    if (since !== '' && target.disks.get(disk.name) !== versionOf(since))
      this.#breach(
        `${what}: changes since ${since} go to a disk that holds ${target.disks.get(disk.name) ?? 'nothing'}`,
      );
    target.disks.set(disk.name, version);
    if (since === '') target.isAdapted = false;
    this.#note(at, vm, since === '' ? 'all copied' : 'changes copied');
    return since === '' ? disk.capacity : (version - (versionOf(since) ?? 0)) * 65_536;
  }

  endPass(scope: PassScope, at: number): void {
    const vm = this.vm(scope.uuid);
    vm.snapshots = vm.snapshots.filter((name) => !isOwnSnapshot(name, scope.uuid));
    if (vm.openPass === undefined) return;
    vm.isFinallyCopied = vm.openPass.mode === 'final' && vm.power === 'off';
    const target = this.target(scope);
    if (target !== undefined) target.lastPass = vm.openPass.number;
    delete vm.openPass;
    this.#note(at, vm, `pass ${scope.pass} ended`);
  }

  adapt(scope: EntryScope, at: number): void {
    const vm = this.vm(scope.uuid);
    const what = `${vm.record.name}: adapting its guest`;
    const target = this.#owned(scope, what);
    if (!vm.isFinallyCopied) this.#breach(`${what} before its final pass is done`);
    target.isAdapted = true;
    this.#note(at, vm, 'guest adapted');
  }

  // Target

  create(scope: EntryScope, at: number): void {
    const vm = this.vm(scope.uuid);
    const existing = this.#targets.get(placeOf(scope));
    if (existing !== undefined && (existing.uuid !== scope.uuid || existing.attempt !== scope.attempt))
      throw new ForeignInstance(`${scope.project} has another instance ${scope.name}`);
    if (existing !== undefined) {
      this.#note(at, vm, 'target adopted');
      return;
    }
    this.#targets.set(placeOf(scope), {
      uuid: scope.uuid,
      attempt: scope.attempt,
      disks: new Map(),
      lastPass: 0,
      isAdapted: false,
      isConfigured: false,
      isRunning: false,
      isReleased: false,
    });
    this.#note(at, vm, 'target created');
  }

  configure(scope: EntryScope, at: number): void {
    const vm = this.vm(scope.uuid);
    const what = `${vm.record.name}: configuring its target`;
    const target = this.#owned(scope, what);
    if (vm.power !== 'off' && !vm.isGone) this.#breach(`${what} while the source is on`);
    for (const { name } of vm.record.disks)
      if (target.disks.get(name) !== vm.version && !vm.isOldCopyFine)
        this.#breach(`${what} with an old copy of ${name}`);
    target.isRunning = false;
    target.isConfigured = true;
    this.#note(at, vm, 'target configured');
  }

  start(scope: EntryScope, at: number): void {
    const vm = this.vm(scope.uuid);
    const what = `${vm.record.name}: starting its target`;
    const target = this.#owned(scope, what);
    if (vm.power !== 'off' && !vm.isGone) this.#breach(`${what} while the source is on`);
    if (!target.isConfigured) this.#breach(`${what} before it is configured`);
    target.isRunning = true;
    this.#note(at, vm, 'target started');
  }

  /** Also one that was released just now. */
  stop(scope: EntryScope, at: number): void {
    const target = this.#targets.get(placeOf(scope));
    if (target?.uuid !== scope.uuid || target.attempt !== scope.attempt) return;
    target.isRunning = false;
    this.#note(at, this.vm(scope.uuid), 'target stopped');
  }

  remove(scope: EntryScope, at: number): void {
    const vm = this.vm(scope.uuid);
    const target = this.target(scope);
    if (target === undefined) return;
    const what = `${vm.record.name}: deleting its target`;
    if (target.isRunning) this.#breach(`${what} while it runs`);
    if (vm.isOurDowntime && vm.power === 'off' && !vm.isGone) this.#breach(`${what} before the source is on again`);
    if (vm.openPass !== undefined) this.#breach(`${what} while pass ${vm.openPass.number} copies`);
    this.#targets.delete(placeOf(scope));
    this.#note(at, vm, 'target deleted');
  }

  /** Somebody deletes what an entry that nobody knows any more has left. */
  clearAway(vm: SourceVm): void {
    for (const [place, { uuid, isReleased }] of this.#targets)
      if (uuid === vm.record.uuid && !isReleased) this.#targets.delete(place);
  }

  release(scope: EntryScope, at: number): void {
    const vm = this.vm(scope.uuid);
    const released = this.finished(vm);
    if (released?.attempt === scope.attempt) return;
    const target = this.#owned(scope, `${vm.record.name}: releasing its target`);
    if (!target.isConfigured) this.#breach(`${vm.record.name}: its target is released before it is configured`);
    target.isReleased = true;
    this.#note(at, vm, 'target released');
  }

  #owned(scope: Pick<EntryScope, 'uuid' | 'attempt'>, what: string): TargetVm {
    return this.target(scope) ?? this.#breach(`${what}: there is no target with the marks of attempt ${scope.attempt}`);
  }

  #note(at: number, vm: SourceVm, what: string): void {
    this.journal.push({ at, vm: vm.record.name, what });
  }

  #breach(message: string): never {
    this.breaches.push(message);
    throw new Breach(message);
  }
}

function placeOf({ target, project, name }: EntryScope): string {
  return `${target}/${project}/${name}`;
}

function versionOf(changeId: string): number | undefined {
  return changeId === '' ? undefined : Number(changeId.split('/')[1]);
}
