import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { BatchDeps } from '../../../activities/batch/deps.ts';
import { createInventories } from '../../../activities/batch/inventories.ts';
import { createConfig, parseConfig } from '../../../activities/config.ts';
import { OperationError } from '../../../activities/failures.ts';
import type { OwnedInstance, Target } from '../../../activities/incus/port.ts';
import type { Source } from '../../../activities/vsphere/source-port.ts';
import type { TlsPolicy, VSphere } from '../../../activities/vsphere/port.ts';
import { batchQuestions } from '../../../activities/lookup/batch/questions.ts';
import type { BatchLookupAnswer, BatchLookupRequest } from '../../../workflows/contracts/batch-lookup.ts';
import type { BatchSpec, InstanceRecord, NetworkRecord, TargetFacts } from '../../../workflows/domain/batch/records.ts';
import { migrationId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { aNic, aVm, someFacts } from './record-builders.ts';

/** What sources, targets and Temporal say; what isn't readonly is for tests to change. */
export class LookupWorld {
  readonly vms = new Map<string, InstanceRecord[]>([['vc1', []]]);
  readonly unread = new Map<string, readonly string[]>();
  readonly noVms = new Map<string, readonly string[]>();
  readonly owned: OwnedInstance[] = [];
  /** Open entries by uuid. */
  readonly entries = new Map<string, { readonly batch: string; readonly status: string }>();
  readonly batches = new Map<string, BatchSpec>();
  facts: TargetFacts = someFacts();
  targetFailure: Error | undefined;
  sourceFailure: Error | undefined;
  isTracked = true;
  tls: TlsPolicy = { mode: 'ca' };
  factReads = 0;

  /** A VM that may migrate, with the network of its NIC. */
  add(name: string, over: Partial<InstanceRecord> = {}): InstanceRecord {
    const source = over.source ?? 'vc1';
    const digits = [...`${source}/${name}`].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % 10 ** 12, 7);
    const record = aVm({
      name,
      location: `/dc1/vm/${name}`,
      uuid: `5298cc11-96ea-4f50-b018-${String(digits).padStart(12, '0')}`,
      source_specific_id: `VirtualMachine:${name}`,
      nics: [aNic({ uuid: 'net-1' })],
      ...over,
    });
    this.vms.set(source, [...(this.vms.get(source) ?? []), record]);
    return record;
  }

  async ask<W extends BatchLookupRequest['what']>(
    request: Extract<BatchLookupRequest, { what: W }>,
  ): Promise<Extract<BatchLookupAnswer, { what: W }>> {
    const answers = batchQuestions(this.#deps(), { config: this.#config(), vsphere: this.#vsphere() });
    const answer = answers[request.what] as unknown as (asked: typeof request) => Promise<unknown>;
    const found: unknown = await new MockActivityEnvironment().run(() => answer(request));
    return found as Extract<BatchLookupAnswer, { what: W }>;
  }

  #config(): BatchDeps['config'] {
    const vcenter = { url: 'https://127.0.0.1:9/sdk', user: 'u', passwordEnv: 'P', tls: this.tls };
    const sections = {
      vcenters: Object.fromEntries([...this.vms.keys()].map((name) => [name, vcenter])),
      targets: { tgt: { url: 'http://127.0.0.1:9', allowPlainHttp: true } },
    };
    return createConfig(parseConfig(JSON.stringify(sections), 'vmflow.yaml'), 'vmflow.yaml', { P: 'p' });
  }

  #deps(): BatchDeps {
    const source = (name: string): Promise<Source> => Promise.resolve(this.#source(name));
    return {
      config: this.#config(),
      source,
      target: () => Promise.resolve(this.#target()),
      temporal: this.#temporal(),
      specs: {
        of: (batch) => {
          const spec = this.batches.get(batch);
          if (spec !== undefined) return Promise.resolve({ spec, revision: 1, status: 'Defined' });
          return Promise.reject(new OperationError('NotFound', `there is no batch ${batch}`, { code: 'NO_BATCH' }));
        },
      },
      inventories: createInventories(source),
      log: { warn: () => undefined },
    };
  }

  #vsphere(): VSphere {
    const failure = this.sourceFailure;
    const fake: Partial<VSphere> = {
      withSession: () => (failure === undefined ? Promise.resolve('' as never) : Promise.reject(failure)),
    };
    return fake as VSphere;
  }

  #source(name: string): Source {
    const instances = this.vms.get(name) ?? [];
    const networks = [aNetwork(name)];
    const { unread, noVms, sourceFailure, isTracked } = this;
    const fake: Partial<Source> = {
      async *inventory() {
        await Promise.resolve();
        if (sourceFailure !== undefined) throw sourceFailure;
        yield { instances, networks, warnings: [], unread: unread.get(name) ?? [], noVms: noVms.get(name) ?? [] };
      },
      fetch: (vm) => {
        const instance = instances.find(({ source_specific_id }) => source_specific_id === vm);
        return Promise.resolve(instance === undefined ? undefined : { instance, networks });
      },
      verifyBackgroundImport: (disks) => Promise.resolve(Object.fromEntries(disks.map((disk) => [disk, isTracked]))),
    };
    return fake as Source;
  }

  #target(): Target {
    const orThrow = <T>(value: T): Promise<T> =>
      this.targetFailure === undefined ? Promise.resolve(value) : Promise.reject(this.targetFailure);
    const fake: Partial<Target> = {
      check: () => orThrow({ version: '6.0', extensions: ['storage_volume_nbd'] }),
      facts: (project) => {
        this.factReads++;
        return orThrow({ ...this.facts, project });
      },
      find: (_project, name) => orThrow(this.owned.find((one) => one.name === name)),
      listOwned: () => orThrow(this.owned),
    };
    return fake as Target;
  }

  #temporal(): Client {
    const { entries, vms } = this;
    const workflow = {
      async *list() {
        await Promise.resolve();
        for (const [uuid, { batch, status }] of entries) {
          const pairs = Object.entries({ OpBatch: batch, OpStatus: status });
          const getAll = () => pairs.map(([name, value]) => ({ key: { name, type: 'KEYWORD' }, value }));
          yield { workflowId: migrationId(uuid), typedSearchAttributes: { getAll } };
        }
      },
      getHandle: (workflowId: string) => ({
        query: (name: string) => {
          const uuid = workflowId.split('/')[1] ?? '';
          const record = [...vms.values()].flat().find((one) => one.uuid === uuid);
          if (name === messages.record && entries.has(uuid)) return Promise.resolve({ record });
          if (workflowId.startsWith('batch/')) return Promise.resolve({ windows: [], constraints: [], counts: {} });
          return Promise.reject(new WorkflowNotFoundError('none', workflowId, undefined));
        },
      }),
    };
    return { workflow } as unknown as Client;
  }
}

function aNetwork(source: string): NetworkRecord {
  return {
    ...{ uuid: 'net-1', source, source_specific_id: 'Network:network-7', type: 'standard' },
    ...{ location: '/dc1/network/lan', properties: {} },
    placement: { network: 'lan', nictype: 'managed', vlan_id: '' },
  };
}
