import type { BatchActivities } from '../../workflows/contracts/batch-activities.ts';
import type { Member } from '../../workflows/contracts/batch.ts';
import type { InstanceRecord } from '../../workflows/domain/batch/records.ts';
import { effectiveName } from '../../workflows/domain/batch/effective.ts';
import { whileBeating } from '../heartbeat.ts';
import type { BatchDeps } from './deps.ts';
import { holds, overridesOf } from './judge.ts';

/** Members in order of uuid, a page at a time; VMs of all sources of the configuration. */
export function createSelectMembers({ config, inventories }: BatchDeps): BatchActivities['selectMembers'] {
  return async ({ spec, after = '', limit }) =>
    await whileBeating(
      () => ({}),
      async () => {
        const all: InstanceRecord[] = [];
        // The first page is read now; the pages after it are of the same reading.
        const maxAgeMs = after === '' ? 0 : undefined;
        for (const source of Object.keys(config.file.vcenters)) {
          const { instances } = await inventories.of(source, maxAgeMs === undefined ? {} : { maxAgeMs });
          all.push(...instances);
        }
        const ahead = all.filter(({ uuid }) => uuid > after).sort(byUuid);
        const members: Member[] = [];
        let last = '';
        for (const instance of ahead) {
          if (last === instance.uuid) continue;
          if (members.length === limit) return { members, next: last };
          const overrides = overridesOf(spec, instance.uuid);
          if (!holds(spec.include_expression, instance, overrides)) continue;
          last = instance.uuid;
          const { uuid, source, source_specific_id: vm } = instance;
          members.push({ uuid, source, vm, name: effectiveName(instance, overrides) });
        }
        return { members };
      },
    );
}

/** Of two sources with one VM, the one with the first name has it. */
function byUuid(a: InstanceRecord, b: InstanceRecord): number {
  if (a.uuid !== b.uuid) return a.uuid < b.uuid ? -1 : 1;
  return a.source < b.source ? -1 : 1;
}
