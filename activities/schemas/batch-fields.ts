import { z } from 'zod';
import { isApiName, isHostName } from '../../workflows/domain/batch/effective.ts';
import { distributions, osTypes } from '../../workflows/domain/batch/os.ts';
import { byteLength } from '../../workflows/domain/text.ts';

/** The smallest parts of a batch, the same in its file and in the workflows. */

const longestExpression = 4_096;
const longestProgram = 64 * 1024;

/** A name of ours or of a target: no blanks, quotes or other characters with a meaning in URLs and shells. */
export const apiName = z.string().refine(isApiName, {
  error:
    'is no name: 1 to 64 characters, a letter or digit at both ends, no blanks and none of $ ? & + " \' ` * / between',
});

export const hostName = z.string().refine(isHostName, {
  error: 'is no host name: 1 to 63 letters, digits and -, not only digits, no - at its ends',
});

export const uuid = z.string().regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'is no UUID in lower case');

export const expression = z
  .string()
  .refine((text) => text.trim() !== '', 'is empty: write true for all')
  .refine((text) => text.length <= longestExpression, `is longer than ${longestExpression} characters`);

export const program = z
  .string()
  .refine((text) => byteLength(text) <= longestProgram, `is longer than ${longestProgram / 1024} KiB`);

export const count = z.int().min(0);
export const nictype = z.enum(['bridged', 'physical', 'managed']);

/** A number, several of them, or ranges: `10`, `10,20`, `100-200`; empty = none. In a file a single one may be a number. */
export const vlanId = z
  .union([z.string(), z.int()])
  .transform(String)
  .refine((text) => text === '' || text.split(',').every(isVlan), {
    error: 'is no VLAN: write 10, or 10,20, or 100-200, each from 1 to 4094',
  });

function isVlan(text: string): boolean {
  const [, first, last = first] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(text) ?? [];
  const [from, to] = [Number(first), Number(last)];
  return from >= 1 && to <= 4_094 && from <= to;
}

const flag = z.boolean().exactOptional();

export const instanceOverrides = z.strictObject({
  name: hostName.exactOptional(),
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
});

export const networkOverrides = z.strictObject({
  network: apiName.exactOptional(),
  nictype: nictype.exactOptional(),
  vlan_id: vlanId.exactOptional(),
});

export const placementRule = z.strictObject({
  when: expression,
  set: z.strictObject({
    target: apiName.exactOptional(),
    project: apiName.exactOptional(),
    pool: z
      .strictObject({
        default: apiName.exactOptional(),
        by_disk: z.array(z.strictObject({ when_disk: expression, pool: apiName })).exactOptional(),
      })
      .exactOptional(),
    network: z
      .array(
        z.strictObject({
          when_nic: expression,
          network: apiName,
          nictype: nictype.exactOptional(),
          vlan_id: vlanId.exactOptional(),
        }),
      )
      .exactOptional(),
  }),
});
