import { ScheduleClient, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import type {
  Connection,
  DataConverter,
  ScheduleDescription,
  ScheduleOptions,
  ScheduleUpdateOptions,
} from '@temporalio/client';
import type { ScheduleView } from './gateway.ts';

/** The schedules of a namespace, as `admin setup` looks at them and writes them. */
export class TemporalSchedules {
  readonly #client: ScheduleClient;

  constructor(connection: Connection, namespace: string, dataConverter: DataConverter) {
    this.#client = new ScheduleClient({ connection, namespace, dataConverter });
  }

  async find(id: string): Promise<ScheduleView | undefined> {
    try {
      return viewOf(await this.#client.getHandle(id).describe());
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) return undefined;
      throw error;
    }
  }

  async create(schedule: ScheduleView): Promise<void> {
    await this.#client.create({ ...optionsOf(schedule), scheduleId: schedule.id });
  }

  /** A pause and its note stay. */
  async change(schedule: ScheduleView): Promise<void> {
    await this.#client.getHandle(schedule.id).update(({ state }): ScheduleUpdateOptions => {
      const { paused, note } = state;
      return { ...optionsOf(schedule), state: { paused, ...(note === undefined ? {} : { note }) } };
    });
  }
}

function optionsOf({ rhythm, overlap, catchupMs, ...action }: ScheduleView): Omit<ScheduleOptions, 'scheduleId'> {
  return {
    spec:
      'everyMs' in rhythm
        ? { intervals: [{ every: rhythm.everyMs }] }
        : { calendars: [{ hour: rhythm.dailyAt.hour, minute: rhythm.dailyAt.minute, second: 0 }] },
    action: {
      type: 'startWorkflow',
      workflowType: action.workflowType,
      workflowId: action.workflowId,
      taskQueue: action.taskQueue,
      args: [],
    },
    policies: { overlap, catchupWindow: catchupMs },
  };
}

function viewOf({ scheduleId, action, spec, policies }: ScheduleDescription): ScheduleView {
  const [interval] = spec.intervals ?? [];
  const [calendar] = spec.calendars ?? [];
  return {
    id: scheduleId,
    workflowType: action.workflowType,
    // The server gives each execution a time behind it.
    workflowId: action.workflowId,
    taskQueue: action.taskQueue,
    rhythm:
      interval === undefined
        ? { dailyAt: { hour: calendar?.hour[0]?.start ?? -1, minute: calendar?.minute[0]?.start ?? -1 } }
        : { everyMs: interval.every },
    overlap: policies.overlap === ScheduleOverlapPolicy.SKIP ? 'SKIP' : 'ALLOW_ALL',
    catchupMs: policies.catchupWindow,
  };
}
