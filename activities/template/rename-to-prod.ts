import type { RenameToProdInput, SwapNamesResult, TemplateActivities } from '../../workflows/contracts/activities.ts';
import { sameWireName, toWireName } from '../../workflows/domain/template/names.ts';
import { whileBeating } from '../heartbeat.ts';
import { isNameTaken } from '../vsphere/operation-error.ts';
import type { VSphereSession } from '../vsphere/port.ts';
import { onVCenter } from '../vsphere/on-vcenter.ts';
import type { TemplateDeps } from './deps.ts';
import { observeNames } from './observe.ts';
import { isOutcomeUnknown, nameOf, rename, reobserve, settled } from './rename.ts';

/** One rename to the production name while nobody has it: forward (`promote`) or back (`restore`). */
export function createRenameToProd(deps: TemplateDeps): TemplateActivities['promote'] & TemplateActivities['restore'] {
  return async (input) => {
    return await onVCenter(deps, input.scope.vcenter, `rename ${input.from} to ${input.scope.names.prod}`, (session) =>
      whileBeating(
        () => ({ v: 1, phase: `renaming ${input.from} to ${input.scope.names.prod}` }),
        () => renameToProd(session, input),
      ),
    );
  };
}

async function renameToProd(session: VSphereSession, input: RenameToProdInput): Promise<SwapNamesResult> {
  const { scope, vm, from, absentSince } = input;
  let gapMs: number | undefined;
  for (;;) {
    await settled(session, vm, new AbortController().signal);
    const name = await nameOf(session, vm);
    if (name !== undefined && sameWireName(name, toWireName(scope.names.prod))) break;
    if (name === undefined || !sameWireName(name, toWireName(from)))
      throw reobserve(`${vm.value} is no longer "${from}"`);
    const holder = await session.findChild(scope.folder, toWireName(scope.names.prod));
    if (holder !== undefined) throw reobserve(`"${scope.names.prod}" is ${holder.value} meanwhile`);
    try {
      await rename(session, vm, scope.names.prod);
      if (absentSince !== undefined) gapMs = Date.now() - absentSince;
    } catch (err) {
      if (!isOutcomeUnknown(err) && !isNameTaken(err)) throw err;
    }
  }
  const observation = await observeNames(session, scope);
  return { observation, ...(gapMs === undefined ? {} : { gapMs }) };
}
