import { targetCall } from './batch-holds.ts';
import assert from 'node:assert/strict';
import type { WorkflowHandle } from '@temporalio/client';
import type {
  ApplyAnswer,
  BatchView,
  EntriesPage,
  MemberRow,
  MigrationView,
  StartAnswer,
  Timeline,
} from '../../workflows/contracts/batch.ts';
import { batchId, migrationId, shardId } from '../../workflows/contracts/ids.ts';
import { messages } from '../../workflows/contracts/messages.ts';
import type { BatchSpec, EntryStatus } from '../../workflows/domain/batch/records.ts';
import type { Instance } from '../sim/incus/model.ts';
import type { VcsimVmSpec } from '../stack/vcsim-control.ts';
import type { BatchRig } from './batch-rig.ts';
import { patienceMs, waitFor } from './wait-for.ts';

const mib = 1024 * 1024;

/** What of a batch a test wants otherwise; `config` and `defaults` are merged. */
export interface BatchChanges extends Partial<Omit<BatchSpec, 'config' | 'defaults' | 'name'>> {
  readonly config?: Partial<BatchSpec['config']>;
  readonly defaults?: Partial<BatchSpec['defaults']>;
}

export function specOf(name: string, folder: string, { config, defaults, ...more }: BatchChanges): BatchSpec {
  return {
    name,
    include_expression: `location startsWith '${folder}/'`,
    migration_windows: [],
    constraints: [],
    placement_rules: [],
    overrides: {},
    network_overrides: {},
    ...more,
    defaults: {
      placement: { target: 'tgt', target_project: 'default', storage_pool: 'default' },
      migration_network: [],
      force_conflict_resolution: false,
      ...defaults,
    },
    config: {
      rerun_scriptlets: false,
      placement_scriptlet: '',
      post_migration_retries: 5,
      instance_restriction_overrides: {
        allow_unknown_os: false,
        allow_no_ipv4: false,
        allow_no_background_import: false,
      },
      background_sync_interval: 60_000,
      final_background_sync_limit: 60_000,
      sync_limit: 0,
      window_end_in_conflict: 'rollback',
      create_retries: 3,
      stale_source: 'recopy',
      without_change_tracking: 'once',
      no_guest_tools: 'ask',
      ...config,
    },
  };
}

let macs = 0;

/** A batch, its VMs at the source, and what became of them at the target. */
export class BatchUnderTest {
  readonly rig: BatchRig;
  readonly folder: string;
  spec: BatchSpec;
  readonly vms: SourceVm[] = [];

  constructor(rig: BatchRig, spec: BatchSpec, folder: string) {
    this.rig = rig;
    this.spec = spec;
    this.folder = folder;
  }

  get name(): string {
    return this.spec.name;
  }

  get handle(): WorkflowHandle {
    return this.rig.client.workflow.getHandle(batchId(this.name));
  }

  /** A VM that may migrate: Linux, one disk with contents, one NIC with an address, change tracking that is proven. */
  async vm(label: string, more: Partial<VcsimVmSpec> & { readonly ips?: readonly string[] } = {}): Promise<SourceVm> {
    // Its own one: servers refuse an address that another instance on the network has.
    const { ips = [`10.1.0.${100 + (macs % 150)}`], ...rest } = more;
    const name = `${label}-${this.rig.id}`;
    const mac = `00:50:56:${[16, 8, 0].map((shift) => ((macs >> shift) & 0xff).toString(16).padStart(2, '0')).join(':')}`;
    macs += 1;
    const { control } = this.rig;
    const { folder = this.folder } = rest;
    const [, datacenter = ''] = folder.split('/');
    const ref = await control.createVm({
      name,
      folder,
      poweredOn: true,
      disks: [{ size: 8 * mib, seed: macs }],
      nics: [{ network: `/${datacenter}/network/VM Network`, mac, ips }],
      settings: {
        tracking: true,
        extraConfig: {
          'guestInfo.detailed.data':
            "distroName='Ubuntu' prettyName='Ubuntu 24.04 LTS' distroVersion='24.04' architecture='X86' bitness='64'",
        },
      },
      ...rest,
    });
    await control.setTrackingFiles(ref, true);
    const vm = new SourceVm(this, name, ref, mac, rest.poweredOn !== false);
    this.vms.push(vm);
    return vm;
  }

  async apply(): Promise<ApplyAnswer> {
    return await this.rig.apply(this.spec);
  }

  async start(): Promise<StartAnswer> {
    return await this.update<StartAnswer>(messages.start);
  }

  async update<Answer>(name: string, more: object = {}): Promise<Answer> {
    return await this.handle.executeUpdate<Answer, [object]>(name, { args: [{ by: 'a test', ...more }] });
  }

  async edit(changes: BatchChanges): Promise<ApplyAnswer> {
    const { config, defaults, ...more } = changes;
    this.spec = {
      ...this.spec,
      ...more,
      config: { ...this.spec.config, ...config },
      defaults: { ...this.spec.defaults, ...defaults },
    };
    return await this.update<ApplyAnswer>(messages.edit, { spec: this.spec });
  }

  async view(): Promise<BatchView> {
    return await this.handle.query<BatchView>(messages.status);
  }

  /** Its members with their phases; `none` = without an entry. */
  async rows(): Promise<readonly MemberRow[]> {
    const shard = this.rig.client.workflow.getHandle(shardId(this.name, 0));
    return (await shard.query<EntriesPage>(messages.entries)).rows;
  }

  async becomes(status: BatchView['status'], timeoutMs = patienceMs): Promise<BatchView> {
    return await waitFor(
      `batch ${this.name} ${status}`,
      async () => {
        const view = await this.view();
        return view.status === status ? view : undefined;
      },
      { timeoutMs },
    );
  }
}

/** A refused update says why in its cause. */
export async function assertRefused(update: Promise<unknown>, why: RegExp): Promise<void> {
  const err: unknown = await update.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  assert.ok(err instanceof Error && err.cause instanceof Error, 'it was refused');
  assert.match(err.cause.message, why);
}

/** One VM at the source with its entry. */
export class SourceVm {
  readonly batch: BatchUnderTest;
  readonly name: string;
  readonly ref: string;
  readonly mac: string;
  readonly isOnAtFirst: boolean;
  #uuid: string | undefined;

  constructor(batch: BatchUnderTest, name: string, ref: string, mac: string, isOnAtFirst = true) {
    this.batch = batch;
    this.name = name;
    this.ref = ref;
    this.mac = mac;
    this.isOnAtFirst = isOnAtFirst;
  }

  get rig(): BatchRig {
    return this.batch.rig;
  }

  /** Of its entry; found by its name once the batch has started. */
  async uuid(): Promise<string> {
    this.#uuid ??= await waitFor(
      `the entry of ${this.name}`,
      async () => (await this.batch.rows()).find(({ name }) => name === this.name)?.uuid,
    );
    return this.#uuid;
  }

  async handle(): Promise<WorkflowHandle> {
    return this.rig.client.workflow.getHandle(migrationId(await this.uuid()));
  }

  async view(): Promise<MigrationView> {
    return await (await this.handle()).query<MigrationView>(messages.status);
  }

  async timeline(): Promise<Timeline> {
    return await (await this.handle()).query<Timeline>(messages.timeline);
  }

  async update<Answer = string>(name: string, more: object = {}): Promise<Answer> {
    return await (await this.handle()).executeUpdate<Answer, [object]>(name, { args: [{ by: 'a test', ...more }] });
  }

  /** Waits for a status, with what else is to hold of it. */
  async becomes(
    status: EntryStatus,
    isSo: (view: MigrationView) => boolean = () => true,
    timeoutMs = patienceMs,
  ): Promise<MigrationView> {
    let last: MigrationView | undefined;
    try {
      return await waitFor(
        `${this.name} ${status}`,
        async () => {
          last = await this.view().catch(() => undefined);
          return last?.status === status && isSo(last) ? last : undefined;
        },
        { timeoutMs },
      );
    } catch (err) {
      throw new Error(`${this.name} is ${last?.status} (${last?.substate}): ${last?.message}`, { cause: err });
    }
  }

  /** Everybody stops before the last copy writes: the source is off, M4 is ahead. Answers what lets it go on. */
  holdFinalCopy(): { release(): void } {
    let open = (): void => undefined;
    const until = new Promise<void>((resolve) => (open = resolve));
    // Once to see that the disk can be written, once for the first copy.
    this.rig.incus.faults.add({
      ...targetCall('disk', this),
      skip: 2,
      effect: { kind: 'hold', until },
    });
    return { release: () => open() };
  }

  /** It is committed, its source off, the last copy held. */
  async isInFinalCopy(): Promise<void> {
    await this.becomes('Performing final import tasks', ({ substate }) => substate === 'copying');
    const { method, path, query } = targetCall('disk', this);
    const opened = (): number => this.rig.incus.journal.requests(method, path, query).length;
    await waitFor(`the last copy of ${this.name}`, () => opened() > 2);
  }

  get target(): Instance | undefined {
    return this.rig.incus.instance('default', this.name);
  }

  async power(): Promise<string> {
    const vm = (await this.rig.control.vms()).find(({ ref }) => ref === this.ref);
    return vm?.powerState ?? 'gone';
  }

  /** The bytes of every disk at the target are those at the source. */
  async assertSameDisks(disks = 1, project = 'default'): Promise<void> {
    for (let disk = 0; disk < disks; disk += 1) {
      const [source, target] = [
        await this.rig.control.diskDigest(this.ref, disk),
        await this.rig.incus.volumeDigest(project, this.name, disk),
      ];
      assert.equal(target, source, `disk ${disk} of ${this.name}`);
    }
  }
}
