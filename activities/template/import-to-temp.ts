import { Context } from '@temporalio/activity';
import type { ImportInput, ImportResult, TemplateTransferActivities } from '../../workflows/contracts/activities.ts';
import type { ImportHeartbeat } from '../../workflows/contracts/template.ts';
import { toWireName } from '../../workflows/domain/template/names.ts';
import { OperationError } from '../failures.ts';
import { lastBeat, raiseFence, whileBeating, type Fence } from '../heartbeat.ts';
import { importHeartbeatSchema } from '../schemas/template.ts';
import { toFaultInfo } from '../vsphere/fault-info.ts';
import { inContext } from '../vsphere/on-vcenter.ts';
import { isFaultType } from '../vsphere/fault-hierarchy.ts';
import { VimFault } from '../vsphere/faults.ts';
import { toVSphereOperationError } from '../vsphere/operation-error.ts';
import type { ImportSpecResult, LeaseInfo, MoRef, VSphereSession } from '../vsphere/port.ts';
import type { LocalSource, TemplateDeps } from './deps.ts';
import { destroyPatiently } from './destroy.ts';
import { chooseHost, type ChosenHost } from './hosts.ts';
import { cleanUpAfter, isVerifiedImport } from './import-clean-up.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { markerEntries } from './marker.ts';
import { observeNames } from './observe.ts';
import { resolveProvisioning } from './provisioning.ts';
import { asRef, list } from './read-vm.ts';
import { reobserve } from './rename.ts';
import { checkDatastore } from './space.ts';
import { openWhenReachable } from './reachable.ts';
import { matchFiles, uploadFiles } from './upload-files.ts';
import { ImportProgress } from './upload-progress.ts';

/** The abort must not hold a failed attempt back for long. */
const abortTimeoutMs = 10_000;
/** A VM whose lease was just aborted is free at once or nearly so. */
const afterAbortPatienceS = 8;
/** Most servers are ready in seconds; thick disks on slow storage take minutes. */
const leaseReadyTimeoutMs = 10 * 60_000;

/** Imports the OVA under the temp name: one session, one lease, one attempt. A failed attempt leaves nothing behind. */
export function createImportToTemp(deps: TemplateDeps): TemplateTransferActivities['importToTemp'] {
  return async (input) => {
    const fence = raiseFence(deps.liveness);
    const previous = lastBeat(importHeartbeatSchema);
    const progress = new ImportProgress(Context.current().info.attempt, previous?.excludedHosts ?? []);
    if (previous !== undefined) progress.carry(previous);
    try {
      return await whileBeating(
        () => progress.details(),
        () =>
          new Import(deps, input, fence, progress, previous).run().catch((err: unknown) => {
            const { scope, datastoreName } = input;
            progress.end();
            Context.current().heartbeat(progress.details());
            throw inContext(
              err,
              `import ${scope.target.version} as "${scope.names.temp}" to datastore ${datastoreName}`,
            );
          }),
      );
    } finally {
      fence.dispose();
    }
  };
}

class Import {
  readonly #deps: TemplateDeps;
  readonly #input: ImportInput;
  readonly #fence: Fence;
  readonly #progress: ImportProgress;
  readonly #previous: ImportHeartbeat | undefined;
  readonly #warnings: string[] = [];

  constructor(
    deps: TemplateDeps,
    input: ImportInput,
    fence: Fence,
    progress: ImportProgress,
    previous: ImportHeartbeat | undefined,
  ) {
    this.#deps = deps;
    this.#input = input;
    this.#fence = fence;
    this.#progress = progress;
    this.#previous = previous;
  }

  async run(): Promise<ImportResult> {
    const { signal } = this.#fence;
    const local = await this.#deps.sources.open(this.#input, { signal, onProgress: () => undefined });
    const endpoint = await this.#deps.config.vcenter(this.#input.scope.vcenter);
    const session = await openWhenReachable(() => this.#deps.vsphere.open(endpoint), this.#progress, signal);
    try {
      const adopted = await this.#afterPrevious(session, local);
      if (adopted !== undefined) return adopted;
      await this.#requireFreeName(session);
      return await this.#import(session, local);
    } finally {
      await session.close();
    }
  }

  /** What an interrupted attempt left: adopted when it was complete, else removed. */
  async #afterPrevious(session: VSphereSession, local: LocalSource): Promise<ImportResult | undefined> {
    if (this.#previous === undefined) return undefined;
    const { entityRef, phase } = this.#previous;
    if (phase === 'completed' && entityRef !== undefined) {
      const entity = { type: 'VirtualMachine', value: entityRef };
      if (await isVerifiedImport(session, this.#input.scope, entity, local.inspection.disks.length))
        return await this.#result(session, entity, []);
    }
    this.#progress.phase = 'cleanup';
    await cleanUpAfter(session, this.#input.scope, this.#previous, this.#progress, this.#fence.signal);
    this.#progress.startOver();
    return undefined;
  }

  async #requireFreeName(session: VSphereSession): Promise<void> {
    const { scope } = this.#input;
    const found = await session.findChild(scope.folder, toWireName(scope.names.temp));
    if (found !== undefined) throw reobserve(`the temp name "${scope.names.temp}" is taken by ${found.value}`);
  }

  async #import(session: VSphereSession, local: LocalSource): Promise<ImportResult> {
    const { placement, scope } = this.#input;
    this.#progress.phase = 'spec';
    const host = await this.#host(session);
    await checkDatastore(
      session,
      placement.datastore,
      this.#input.datastoreName,
      neededBytes(local, this.#input.diskProvisioning),
    );
    const spec = await this.#importSpec(session, local, host);
    await this.#fence.check();
    this.#progress.phase = 'lease';
    const edits = { extraConfig: this.#marker(), emptyDiskFileNames: true };
    const lease = await this.#excludingHost(host, () =>
      session.importVApp(placement.pool, spec.importSpecXml, edits, scope.folder, host.ref),
    );
    try {
      const entity = await this.#throughLease(session, local, spec, lease, host);
      return await this.#result(session, entity, [...spec.warnings, ...this.#warnings]);
    } catch (err) {
      throw await this.#undo(session, lease, err);
    }
  }

  async #host(session: VSphereSession): Promise<ChosenHost> {
    const { placement, hostName } = this.#input;
    const [cluster] = await session.retrieve([placement.cluster], ['host']);
    const hosts = list(cluster?.props.get('host'))
      .map(asRef)
      .filter((ref) => ref !== undefined);
    return await chooseHost(session, { ...placement, hosts }, hostName, this.#progress.excludedHosts);
  }

  async #importSpec(session: VSphereSession, local: LocalSource, host: ChosenHost): Promise<ImportSpecResult> {
    const { scope, placement, prod, diskProvisioning } = this.#input;
    const provisioning = await resolveProvisioning(session, diskProvisioning, prod);
    const [network = ''] = local.inspection.networks;
    const spec = await session.createImportSpec({
      ovfDescriptor: local.inspection.descriptor.text,
      resourcePool: placement.pool,
      datastore: placement.datastore,
      host: host.ref,
      entityName: scope.names.temp,
      networkMapping: [{ name: network, network: placement.network }],
      ...(provisioning === undefined ? {} : { diskProvisioning: provisioning }),
    });
    if (spec.errors.length === 0) return spec;
    throw new OperationError(
      'InvalidRequest',
      `vCenter refuses the OVA's descriptor: ${spec.errors.join('; ')}; nothing was imported`,
      {
        code: 'IMPORT_SPEC',
        primary: { kind: 'vim-fault', method: 'CreateImportSpec', message: spec.errors.join('; ') },
      },
    );
  }

  #marker(): ReadonlyMap<string, string> {
    const { names, opId, target } = this.#input.scope;
    return markerEntries({ prod: names.prod, opId, version: target.version, sha256: '', state: 'importing' });
  }

  /** A host that refuses the import is left out by the next attempt. */
  async #excludingHost<T>(host: ChosenHost, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (err) {
      if (
        err instanceof VimFault &&
        ['HostCommunication', 'InvalidHostState'].some((type) => isFaultType(err.faultType, type))
      ) {
        this.#progress.excludedHosts.push(host.ref.value);
      }
      throw err;
    }
  }

  async #throughLease(
    session: VSphereSession,
    local: LocalSource,
    spec: ImportSpecResult,
    lease: MoRef,
    host: ChosenHost,
  ): Promise<MoRef> {
    const progress = this.#progress;
    const info = await this.#excludingHost(host, () =>
      session.waitForLease(lease, { signal: this.#fence.signal, timeoutMs: leaseReadyTimeoutMs }),
    );
    progress.entityRef = info.entity.value;
    progress.leaseTimeoutS = info.leaseTimeoutS;
    const keeper = new LeaseKeeper(session, lease, info.leaseTimeoutS, () => progress.percent(false));
    try {
      await this.#upload(session, local, spec, lease, info, keeper);
    } finally {
      await keeper.stop();
    }
    await this.#complete(session, lease, info.entity, local);
    return info.entity;
  }

  async #upload(
    session: VSphereSession,
    local: LocalSource,
    spec: ImportSpecResult,
    lease: MoRef,
    info: LeaseInfo,
    keeper: LeaseKeeper,
  ): Promise<void> {
    const signal = AbortSignal.any([this.#fence.signal, keeper.lost]);
    const context = { session, lease, progress: this.#progress, signal, stallMs: this.#input.uploadStallMs };
    this.#progress.hasUploaded = true;
    try {
      this.#warnings.push(...(await uploadFiles(context, local, matchFiles(spec.fileItems, info, local))));
    } catch (err) {
      // The lost lease is the cause; that the upload then broke is only its effect.
      throw keeper.lost.aborted ? keeper.lost.reason : err;
    }
    await keeper.tell(100);
  }

  /** Past this the VM is whole. An answer that got lost is found out by looking at the VM. */
  async #complete(session: VSphereSession, lease: MoRef, entity: MoRef, local: LocalSource): Promise<void> {
    await this.#fence.check();
    this.#progress.phase = 'completing';
    try {
      await session.leaseComplete(lease);
    } catch (err) {
      if (
        !(await isVerifiedImport(session, this.#input.scope, entity, local.inspection.disks.length).catch(() => false))
      )
        throw err;
    }
    this.#progress.phase = 'completed';
    Context.current().heartbeat(this.#progress.details());
  }

  /** Lease aborted, VM gone; the first failure stays the one that is told, a second one beside it. */
  async #undo(session: VSphereSession, lease: MoRef, primary: unknown): Promise<unknown> {
    const within = AbortSignal.timeout(abortTimeoutMs);
    await session.leaseAbort(lease, { signal: within }).catch(() => undefined);
    const entity = this.#progress.entityRef;
    if (entity === undefined) return await this.#undoByName(session, primary);
    return await this.#remove(session, { type: 'VirtualMachine', value: entity }, primary);
  }

  /** The lease never told its VM: it is looked for under the temp name, and taken only with our marker. */
  async #undoByName(session: VSphereSession, primary: unknown): Promise<unknown> {
    const { scope } = this.#input;
    const seen = await observeNames(session, scope).catch(() => undefined);
    if (seen?.temp?.marker?.opId !== scope.opId) return primary;
    return await this.#remove(session, seen.temp.ref, primary);
  }

  async #remove(session: VSphereSession, vm: MoRef, primary: unknown): Promise<unknown> {
    try {
      await destroyPatiently(session, vm, afterAbortPatienceS, AbortSignal.timeout(abortTimeoutMs));
      return primary;
    } catch (secondary) {
      return withSecondary(primary, secondary, vm);
    }
  }

  async #result(session: VSphereSession, entity: MoRef, warnings: readonly string[]): Promise<ImportResult> {
    const observation = await observeNames(session, this.#input.scope);
    return {
      entity,
      uploadedBytes: this.#progress.sentBytes,
      attempts: this.#progress.uploads,
      warnings,
      observation,
    };
  }
}

/** Thin disks take what is in them, thick ones their whole size. */
function neededBytes(local: LocalSource, provisioning: ImportInput['diskProvisioning']): number {
  const isThick = provisioning === 'thick' || provisioning === 'eagerZeroedThick';
  return local.inspection.disks.reduce(
    (sum, disk) => sum + (isThick ? disk.capacityBytes : (disk.populatedBytes ?? 0)),
    0,
  );
}

function withSecondary(primary: unknown, secondary: unknown, vm: MoRef): unknown {
  const known = primary instanceof OperationError ? primary : toVSphereOperationError(primary);
  if (known === undefined) return primary;
  const why = secondary instanceof Error ? secondary.message : String(secondary);
  return new OperationError(known.type, `${known.message}; removing the half-imported ${vm.value} failed too: ${why}`, {
    ...known.details,
    primary: known.details.primary ?? toFaultInfo(primary),
    secondary: toFaultInfo(secondary),
    retryable: known.retryable,
    cause: primary,
  });
}
