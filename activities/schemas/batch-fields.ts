import { z } from 'zod';
import { distributions, osTypes } from '../../workflows/domain/batch/os.ts';
import { byteLength } from '../../workflows/domain/text.ts';

/** The smallest parts of a batch, the same in its file and in the workflows. What names may look like is said by `specProblems`. */

const longestExpression = 4_096;
const longestProgram = 64 * 1024;

export const name = z.string().min(1);

export const expression = z
  .string()
  .refine((text) => text.trim() !== '', 'is empty: write true for all')
  .refine((text) => text.length <= longestExpression, `is longer than ${longestExpression} characters`);

export const program = z
  .string()
  .refine((text) => byteLength(text) <= longestProgram, `is longer than ${longestProgram / 1024} KiB`);

export const count = z.int().min(0);
export const nictype = z.enum(['bridged', 'physical', 'managed']);

/** In a file a single one may be a number. */
export const vlanId = z.union([z.string(), z.int()]).transform(String);

const flag = z.boolean().exactOptional();

export const instanceOverrides = z.strictObject({
  name: z.string().exactOptional(),
  cpus: z.int().min(1).exactOptional(),
  memory: z.int().min(1).exactOptional(),
  config: z.record(z.string().min(1), z.string()).exactOptional(),
  architecture: z.string().min(1).exactOptional(),
  os_type: z.enum(osTypes).exactOptional(),
  distribution: z.enum(distributions).exactOptional(),
  distribution_version: z.string().exactOptional(),
  comment: z.string().exactOptional(),
  disable_migration: flag,
  ignore_restrictions: flag,
  started_after_migration: flag,
  stopped_after_migration: flag,
  group: z.int().min(1).exactOptional(),
  depends_on: z.array(z.string().min(1)).exactOptional(),
});

export const networkOverrides = z.strictObject({
  network: name.exactOptional(),
  nictype: nictype.exactOptional(),
  vlan_id: vlanId.exactOptional(),
});

export const placementRule = z.strictObject({
  when: expression,
  set: z.strictObject({
    target: name.exactOptional(),
    project: name.exactOptional(),
    pool: z
      .strictObject({
        default: name.exactOptional(),
        by_disk: z.array(z.strictObject({ when_disk: expression, pool: name })).exactOptional(),
      })
      .exactOptional(),
    network: z
      .array(
        z.strictObject({
          when_nic: expression,
          network: name,
          nictype: nictype.exactOptional(),
          vlan_id: vlanId.exactOptional(),
        }),
      )
      .exactOptional(),
  }),
});
