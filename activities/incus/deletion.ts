import type { Call } from './call.ts';
import { ensure } from './ensure.ts';
import { instancePath, notOurs, type Instances, type Place } from './instances.ts';
import { isOwner, type Owner } from './marks.ts';
import type { Operations } from './operations.ts';
import type { Power } from './power.ts';
import type { Volumes } from './volumes.ts';

export interface DeleteParts {
  readonly operations: Operations;
  readonly instances: Instances;
  readonly power: Power;
  readonly volumes: Volumes;
}

/**
 * Deletes an instance and then the volumes of this attempt, also those that were never attached. An instance of somebody else is
 * left alone and fails with `NOT_OURS`, after our own unused volumes are gone. Answers whether the instance was there.
 */
export async function deleteInstance(parts: DeleteParts, place: Place, owner: Owner, call: Call): Promise<boolean> {
  const { operations, instances, volumes } = parts;
  await operations.resume(call);
  // What is still being created would appear behind our back.
  await operations.settle(place.project, place.name, call);
  const found = (await instances.find(place, call))?.value;
  if (found !== undefined && !isOwner(found.config, owner)) {
    await volumes.deleteOwned(place.project, owner, 'used', call);
    throw notOurs(found, owner, call);
  }
  if (found !== undefined) await remove(parts, place, owner, call);
  await volumes.deleteOwned(place.project, owner, 'none', call);
  return found !== undefined;
}

async function remove({ operations, instances, power }: DeleteParts, place: Place, owner: Owner, call: Call) {
  const isGone = async (): Promise<boolean> => {
    const found = (await instances.find(place, call))?.value;
    if (found === undefined) return true;
    if (isOwner(found.config, owner)) return false;
    throw notOurs(found, owner, call);
  };
  await ensure(call, {
    look: async () => ((await isGone()) ? true : undefined),
    act: async () => {
      await power.stop(place, call, true);
      // While it was being stopped, it may have become somebody else's.
      if (!(await isGone())) await operations.run({ method: 'DELETE', path: instancePath(place) }, call);
    },
    settle: () => operations.settle(place.project, place.name, call),
    instead: () => 'it is still there',
  });
}
