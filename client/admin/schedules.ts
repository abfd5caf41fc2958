import type { Gateway, ScheduleView } from '../gateway.ts';
import type { SetupItem } from './setup-item.ts';

/** A sweep that was missed is made up for by the next one. */
const catchupMs = 60_000;

/**
 * What runs by itself: the sweep finds operations that lost their workflow, the collection deletes finished ones, the sources of
 * batches are read.
 */
export function wantedSchedules(taskQueue: string): readonly ScheduleView[] {
  const common = { taskQueue, overlap: 'SKIP', catchupMs } as const;
  return [
    { id: 'vmop-sweep', workflowId: 'vmop-sweep', workflowType: 'vmopSweep', rhythm: { everyMs: 30_000 }, ...common },
    // Which source is due says the workers' configuration.
    { id: 'sync-sources', workflowId: 'sync-sources', workflowType: 'syncAll', rhythm: { everyMs: 60_000 }, ...common },
    {
      ...{ id: 'vmop-gc', workflowId: 'vmop-gc', workflowType: 'vmopGc', ...common },
      rhythm: { dailyAt: { hour: 0, minute: 0 } },
      // A server that was down at midnight does it when it is back.
      catchupMs: 12 * 3_600_000,
    },
  ];
}

/** Creates the schedules that are missing and changes those that are otherwise. A pause stays as it is. */
export async function ensureSchedules(
  gateway: Pick<Gateway, 'schedule' | 'createSchedule' | 'changeSchedule'>,
  taskQueue: string,
  isDryRun = false,
): Promise<SetupItem[]> {
  const items: SetupItem[] = [];
  for (const wanted of wantedSchedules(taskQueue)) {
    const found = await gateway.schedule(wanted.id);
    const was = found === undefined ? 'missing' : isSame(found, wanted) ? 'present' : 'different';
    if (!isDryRun && was === 'missing') await gateway.createSchedule(wanted);
    if (!isDryRun && was === 'different') await gateway.changeSchedule(wanted);
    items.push(scheduleItem(wanted, was, isDryRun));
  }
  return items;
}

export function scheduleItem(wanted: ScheduleView, was: SetupItem['was'], isDryRun: boolean): SetupItem {
  const verb = was === 'missing' ? 'created' : 'changed';
  const done = was === 'present' ? 'present' : isDryRun ? `would be ${verb}` : verb;
  return { what: 'schedule', name: wanted.id, was, now: `${done}, ${rhythmInWords(wanted)}` };
}

function rhythmInWords({ rhythm }: ScheduleView): string {
  if ('everyMs' in rhythm) return `every ${String(rhythm.everyMs / 1000)} s`;
  const two = (n: number): string => String(n).padStart(2, '0');
  return `daily at ${two(rhythm.dailyAt.hour)}:${two(rhythm.dailyAt.minute)} UTC`;
}

function isSame(found: ScheduleView, wanted: ScheduleView): boolean {
  const keys = Object.keys(wanted) as (keyof ScheduleView)[];
  return keys.every((key) => JSON.stringify(found[key]) === JSON.stringify(wanted[key]));
}
