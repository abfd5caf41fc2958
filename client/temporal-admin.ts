import type { Connection } from '@temporalio/client';
import type { Poller } from './gateway.ts';
import { isoTime } from './temporal-views.ts';

type DescribeRequest = Parameters<Connection['workflowService']['describeTaskQueue']>[0];

/** Runs a call with a deadline; the first word says what was attempted. */
export type Caller = <T>(attempt: string, deadlineMs: number, call: () => Promise<T>) => Promise<T>;

/** Milliseconds for a call about namespaces, attributes and queues. */
const deadlineMs = 10_000;
const secondsPerDay = 86_400;

/** Numbers of the protocol's enum `IndexedValueType`, under the names that the SDK gives the types. */
const valueTypes: Readonly<Record<string, number>> = {
  TEXT: 1,
  KEYWORD: 2,
  INT: 3,
  DOUBLE: 4,
  BOOL: 5,
  DATETIME: 6,
  KEYWORD_LIST: 7,
};
/** Numbers of the protocol's enum `TaskQueueType`. */
const queueTypes: Readonly<Record<'workflow' | 'activity', number>> = { workflow: 1, activity: 2 };
/** Number of the protocol's enum `WorkerVersioningMode`. */
const versioned = 2;

/** The part of the gateway that sets a namespace up and looks after it. */
export abstract class TemporalAdmin {
  protected readonly connection: Connection;
  readonly #namespace: string;
  readonly #call: Caller;

  constructor(connection: Connection, namespace: string, call: Caller) {
    this.connection = connection;
    this.#namespace = namespace;
    this.#call = call;
  }

  async pollers(queue: string, type: 'workflow' | 'activity'): Promise<readonly Poller[]> {
    const request: object = {
      namespace: this.#namespace,
      taskQueue: { name: queue },
      taskQueueType: queueTypes[type],
    };
    const response = await this.#call(`look at task queue ${queue}`, deadlineMs, () =>
      this.connection.workflowService.describeTaskQueue(request as DescribeRequest),
    );
    return response.pollers.map((poller) => {
      const lastSeen = isoTime(poller.lastAccessTime);
      const buildId = poller.deploymentOptions?.buildId || poller.workerVersionCapabilities?.buildId;
      return {
        identity: poller.identity ?? '',
        ...(lastSeen === undefined ? {} : { lastSeen }),
        ...(buildId ? { buildId } : {}),
        ...(Number(poller.deploymentOptions?.workerVersioningMode) === versioned ? { isVersioned: true } : {}),
      };
    });
  }

  async server(): Promise<{ version: string }> {
    const info = await this.#call('ask Temporal for its version', deadlineMs, () =>
      this.connection.workflowService.getSystemInfo({}),
    );
    return { version: info.serverVersion };
  }

  async namespace(): Promise<{ name: string; retentionDays: number } | undefined> {
    try {
      const found = await this.#call(`look at namespace ${this.#namespace}`, deadlineMs, () =>
        this.connection.workflowService.describeNamespace({ namespace: this.#namespace }),
      );
      const retention = found.config?.workflowExecutionRetentionTtl?.seconds?.toNumber() ?? 0;
      return { name: this.#namespace, retentionDays: Math.round(retention / secondsPerDay) };
    } catch (error) {
      if (error instanceof Error && 'reason' in error && error.reason === 'NAMESPACE_MISSING') return undefined;
      throw error;
    }
  }

  async createNamespace(retentionDays: number): Promise<void> {
    // The protocol's 64-bit type takes plain numbers when it is written; only its type says otherwise.
    const seconds = (retentionDays * secondsPerDay) as unknown as null;
    await this.#call(`create namespace ${this.#namespace}`, deadlineMs, () =>
      this.connection.workflowService.registerNamespace({
        namespace: this.#namespace,
        description: 'vmflow: long operations on virtual machines',
        workflowExecutionRetentionPeriod: { seconds },
      }),
    );
  }

  async searchAttributes(): Promise<Readonly<Record<string, string>>> {
    const response = await this.#call('list search attributes', deadlineMs, () =>
      this.connection.operatorService.listSearchAttributes({ namespace: this.#namespace }),
    );
    const nameOf = new Map(Object.entries(valueTypes).map(([name, number]) => [number, name]));
    return Object.fromEntries(
      Object.entries(response.customAttributes).map(([name, type]) => [name, nameOf.get(type) ?? 'UNKNOWN']),
    );
  }

  async addSearchAttributes(attributes: Readonly<Record<string, string>>): Promise<void> {
    const searchAttributes = Object.fromEntries(
      Object.entries(attributes).map(([name, type]) => [name, valueTypes[type] ?? 0]),
    );
    await this.#call('register search attributes', deadlineMs, () =>
      this.connection.operatorService.addSearchAttributes({ namespace: this.#namespace, searchAttributes }),
    );
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}
