import { deadline } from './deadline.ts';
import { faultOf } from './fault-decode.ts';
import { VimFault, VSphereError } from './faults.ts';
import type { VSphereLog } from './log.ts';
import type { CallOptions, MoRef, VmReconfiguration } from './port.ts';
import type { CoreCallOptions, SessionCore } from './session-core.ts';
import { describeRef } from './session-core.ts';
import type { Method } from './vim25/table.ts';
import type { Watch } from './wait.ts';
import { waitForProperties } from './wait.ts';

/** Methods of tasks we did not start ourselves, by the last word of `descriptionId`. */
const methodOfDescription: Readonly<Record<string, string>> = {
  rename: 'Rename_Task',
  destroy: 'Destroy_Task',
  reconfigure: 'ReconfigVM_Task',
  clone: 'CloneVM_Task',
  powerOn: 'PowerOnVM_Task',
  powerOff: 'PowerOffVM_Task',
  createSnapshot: 'CreateSnapshot_Task',
  createSnapshotEx: 'CreateSnapshot_Task',
  removeSnapshot: 'RemoveSnapshot_Task',
  consolidateVMDisks: 'ConsolidateVMDisks_Task',
};

type TaskMethod = Extract<Method, `${string}_Task`>;

/** Tasks whose start is remembered, to name the method in a task's error. */
const rememberedTasks = 200;

/** Runs `work` within an overall limit of its own; `undefined` = no limit. A limit that ran out is `TIMEOUT`. */
export async function within<T>(
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
  what: string,
  work: (options: CallOptions) => Promise<T>,
): Promise<T> {
  if (timeoutMs === undefined) return await work(signal === undefined ? {} : { signal });
  const limit = deadline(timeoutMs, signal);
  try {
    return await work({ signal: limit.signal });
  } catch (error) {
    if (!limit.expired()) throw error;
    const message = `${what} did not end within ${timeoutMs} ms.`;
    throw new VSphereError('TIMEOUT', message, { kind: 'transport', message }, { cause: error, outcomeUnknown: true });
  } finally {
    limit.dispose();
  }
}

/** Starts tasks and waits for them. */
export class Tasks {
  readonly #core: SessionCore;
  readonly #log: VSphereLog;
  readonly #methods = new Map<string, string>();

  constructor(core: SessionCore, log: VSphereLog) {
    this.#core = core;
    this.#log = log;
  }

  rename(ref: MoRef, newName: string, options?: CallOptions): Promise<MoRef> {
    return this.start('Rename_Task', { _this: ref, newName }, options);
  }

  destroy(ref: MoRef, options?: CallOptions): Promise<MoRef> {
    return this.start('Destroy_Task', { _this: ref }, options);
  }

  reconfigure(vm: MoRef, change: VmReconfiguration, options?: CallOptions): Promise<MoRef> {
    const { annotation, extraConfig, bootOptions } = change;
    const spec = {
      annotation,
      extraConfig: [...(extraConfig ?? [])].map(([key, value]) => ({ key, value })),
      bootOptions,
    };
    return this.start('ReconfigVM_Task', { _this: vm, spec }, options);
  }

  /** Resolves when the task succeeded; a task's error is thrown as `VimFault` of kind `task-error`. */
  async wait(task: MoRef, options: CallOptions = {}): Promise<void> {
    const watch: Watch = {
      ref: task,
      paths: ['info.state', 'info.error', 'info.descriptionId'],
      isDone: (props) => props.get('info.state') === 'success' || props.get('info.state') === 'error',
    };
    const name = describeRef(task);
    const props = await within(options.timeoutMs, options.signal, name, (limited) =>
      waitForProperties(this.#core, watch, limited, this.#log),
    );
    if (props.get('info.state') === 'success') return;
    const method = this.#methods.get(task.value) ?? methodFrom(props.get('info.descriptionId'));
    const fault = faultOf(props.get('info.error'), { kind: 'task-error', method, moRef: name });
    throw fault ?? new VimFault({ kind: 'task-error', faultType: 'MethodFault', method, moRef: name });
  }

  /** Sends the call and remembers which one it was. */
  async start(
    method: TaskMethod,
    args: Readonly<Record<string, unknown>>,
    options: CoreCallOptions = {},
  ): Promise<MoRef> {
    const task = (await this.#core.call(method, args, options)) as MoRef;
    this.#methods.set(task.value, method);
    const [oldest] = this.#methods.keys();
    if (this.#methods.size > rememberedTasks && oldest !== undefined) this.#methods.delete(oldest);
    return task;
  }
}

function methodFrom(descriptionId: unknown): string {
  const word = typeof descriptionId === 'string' ? (descriptionId.split('.').at(-1) ?? '') : '';
  return methodOfDescription[word] ?? 'Task';
}
