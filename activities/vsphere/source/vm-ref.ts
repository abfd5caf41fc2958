import { isFault } from '../session-core.ts';
import { VimFault } from '../faults.ts';
import type { MoRef } from '../port.ts';

/** The reference behind a `source_specific_id` or the like: `VirtualMachine:vm-12`. */
export function refOf(id: string): MoRef {
  const at = id.indexOf(':');
  return { type: id.slice(0, at), value: id.slice(at + 1) };
}

export const idOf = ({ type, value }: MoRef): string => `${type}:${value}`;

/** Whether this failure says that this very object is gone. */
export function isGone(error: unknown, ref: MoRef): boolean {
  if (!isFault(error, 'ManagedObjectNotFound')) return false;
  const gone = error.fields['obj'] as Partial<MoRef> | undefined;
  return gone?.value === undefined || gone.value === ref.value;
}

/** The fault for a VM that is gone where the caller needs it. */
export function goneFault(method: string, ref: MoRef): VimFault {
  return new VimFault({
    kind: 'vim-fault',
    faultType: 'ManagedObjectNotFound',
    fields: { obj: ref },
    method,
    moRef: idOf(ref),
    message: `${method} on ${idOf(ref)}: there is no such object any more.`,
  });
}
