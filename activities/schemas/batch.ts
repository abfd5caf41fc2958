import { z } from 'zod';
import type { BatchSpec, MigrationWindow } from '../../workflows/domain/batch/records.ts';
import {
  name,
  count,
  expression,
  instanceOverrides,
  networkOverrides,
  nictype,
  placementRule,
  program,
  vlanId,
} from './batch-fields.ts';
import { pathText } from './spec-path.ts';
import { checkSpec } from './spec-problems.ts';

/** What differs between a batch in a file, where much may be left out, and one that a workflow holds. */
export interface BatchForm {
  /** Milliseconds. */
  readonly duration: z.ZodType<number>;
  readonly window: z.ZodType<MigrationWindow>;
  /** A field that may be left out, or not. */
  readonly or: <T>(schema: z.ZodType<T>, value: NoInfer<T>) => z.ZodType<T>;
  /** The same for an object all of whose fields may be left out. */
  readonly part: <T>(schema: z.ZodType<T>) => z.ZodType<T>;
}

const minuteMs = 60_000;
const positive = (duration: z.ZodType<number>): z.ZodType<number> =>
  duration.refine((ms) => ms > 0, 'must be longer than 0s');

/** The fields of a batch in one of its forms. What they have to do with each other is in `batch-rules.ts`. */
export function batchShape({ duration, window, or, part }: BatchForm): z.ZodType<BatchSpec> {
  const migrationNetwork = z.strictObject({
    target: name,
    target_project: or(name, 'default'),
    network: name,
    nictype: or(nictype, 'managed'),
    vlan_id: or(vlanId, ''),
  });
  const constraint = z.strictObject({
    name,
    description: or(z.string(), ''),
    include_expression: expression,
    max_concurrent_instances: or(count, 0),
    min_instance_boot_time: or(duration, 0),
  });
  const placement = z.strictObject({
    target: or(name, 'default'),
    target_project: or(name, 'default'),
    storage_pool: or(name, 'default'),
  });
  const restrictions = z.strictObject({
    allow_unknown_os: or(z.boolean(), false),
    allow_no_ipv4: or(z.boolean(), false),
    allow_no_background_import: or(z.boolean(), false),
  });
  const config = z.strictObject({
    rerun_scriptlets: or(z.boolean(), false),
    placement_scriptlet: or(program, ''),
    post_migration_retries: or(count, 5),
    instance_restriction_overrides: part(restrictions),
    background_sync_interval: or(positive(duration), 10 * minuteMs),
    final_background_sync_limit: or(positive(duration), 10 * minuteMs),
    sync_limit: or(count, 0),
    window_end_in_conflict: or(z.enum(['rollback', 'hold']), 'rollback'),
    create_retries: or(count, 10),
    stale_source: or(z.enum(['recopy', 'accept']), 'recopy'),
    without_change_tracking: or(z.enum(['once', 'compare']), 'once'),
    no_guest_tools: or(z.enum(['ask', 'power-off', 'skip']), 'ask'),
  });
  const defaults = z.strictObject({
    placement: part(placement),
    migration_network: or(z.array(migrationNetwork), []),
    force_conflict_resolution: or(z.boolean(), false),
  });
  return z.strictObject({
    name,
    include_expression: or(expression, 'false'),
    migration_windows: or(z.array(window), []),
    constraints: or(z.array(constraint), []),
    defaults: part(defaults),
    placement_rules: or(z.array(placementRule), []),
    config: part(config),
    overrides: or(z.record(z.string(), instanceOverrides), {}),
    network_overrides: or(z.record(z.string().min(1), networkOverrides), {}),
  });
}

const instant = z.iso.datetime();

/** A batch as a workflow holds it: complete, times in UTC, spans in milliseconds. */
export const batchSpecSchema = batchShape({
  duration: count,
  window: z.strictObject({
    name,
    start: instant.exactOptional(),
    end: instant.exactOptional(),
    lockout: instant.exactOptional(),
    capacity: count,
  }),
  or: (schema) => schema,
  part: (schema) => schema,
});

/** What is wrong with a batch that a workflow is given; the same rules as for files. `now`: epoch milliseconds. */
export function problemsOfSpec(
  value: unknown,
  now: number,
  previous?: BatchSpec,
): readonly { readonly path: string; readonly message: string }[] {
  const checked = checkSpec(value, batchSpecSchema, now, previous);
  if (!('mistakes' in checked)) return [];
  return checked.mistakes.map(({ path, message }) => ({ path: pathText(path), message }));
}
