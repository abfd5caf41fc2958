import { swapNames } from '../../workflows/domain/template/names.ts';
import type { Stack } from './stack.ts';

/** Somebody's VM under the name that the new version of this template has before it is swapped in: its first update is a Conflict. */
export async function sampleConflict({ vcsim }: Pick<Stack, 'vcsim'>, template = 'kiosk'): Promise<string> {
  await vcsim.control.createVm({ name: swapNames(template).temp });
  return template;
}
