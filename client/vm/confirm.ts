import type { VmopType } from '../../workflows/domain/vmop/matrix.ts';
import { confirmYes } from '../confirm.ts';
import { namesText } from '../output/names.ts';
import type { Session } from '../session.ts';
import type { Picked } from './targets.ts';

/** What is about to be asked of the picked VMs. */
export interface Intent {
  /** As people say it: `stop`, `move to node-2`. */
  readonly verb: string;
  readonly type: VmopType;
  readonly force?: boolean;
}

/** What reaches far is asked for: many VMs, VMs that nobody has typed, an eviction, a power cut. */
export async function confirmIntent(
  session: Session,
  { targets, isSelected }: Picked,
  { verb, type, force = false }: Intent,
  flags: { readonly yes?: boolean },
): Promise<void> {
  const cutsPower = force && (type === 'Stop' || type === 'Restart');
  if (!cutsPower && !isSelected && targets.length === 1 && type !== 'Evict') return;
  const which = namesText(targets.map(({ namespace, name }) => `${namespace}/${name}`));
  const count = targets.length === 1 ? '' : `${String(targets.length)} VMs: `;
  const guests = targets.length === 1 ? 'the guest' : `${String(targets.length)} guests`;
  const danger = cutsPower ? `; power is cut, unsaved data in ${guests} may be lost` : '';
  await confirmYes(session, `${verb} ${count}${which}${danger}`, flags);
}
