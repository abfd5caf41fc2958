import type { ConflictCode } from './records.ts';

/** One way out of a conflict, in the shape that every operation has. */
interface ConflictChoice {
  readonly decision: 'recheck' | 'cancel';
  readonly effect: string;
}

/** What to do first, by what is wrong; then it is looked at again. */
const remedies: Readonly<Record<ConflictCode, string>> = {
  EXPRESSION_MISMATCH: 'migrate it all the same: its batch never looks at the expression for it again',
  NO_GUEST_TOOLS:
    'migrate it all the same: where its guest tools still do not run in its downtime, it is switched off hard, as by a power cut',
  PLACEMENT_CHANGED:
    'after you changed source, overrides, rules or program so that it is placed as before: check again, go on if it is',
  PLACEMENT_FAILED: 'after you corrected rules, program or network_overrides: place it again, go on if that works',
  TARGET_GONE: 'after you put the target back into the configuration: check again, go on if it fits',
  PROJECT_GONE: 'after you created the project at the target: check again, go on if it fits',
  TARGET_INSTANCE_GONE: 'after you put the instance back under its name: check again, go on if it is ours',
  POOL_GONE: 'after you put the storage pool back: check again, go on if it fits',
  MIGRATION_NETWORK_INVALID: 'after you changed the network at the target: check again, go on if it fits',
  NETWORK_GONE: 'after you created the network or mapped it in network_overrides: check again, go on if it fits',
  NETWORK_TYPE: 'after you changed the network, or its type in network_overrides: check again, go on if it fits',
  NETWORK_SUBNET: 'after you changed the subnet, or mapped the network elsewhere: check again, go on if it fits',
  SOURCE_VM_GONE: 'after you brought the VM back at the source: check again, go on if it is the same',
  FINALIZE_FAILED: 'after you repaired the target: check all again, then configure and start it',
};

/** `isCommitted`: its source is off, or about to be. */
export function conflictOptions(
  code: ConflictCode,
  { name, batch, isCommitted }: { readonly name: string; readonly batch: string; readonly isCommitted: boolean },
): readonly ConflictChoice[] {
  const source = isCommitted ? 'its source is switched on again where it was on' : 'its source is not touched';
  return [
    { decision: 'recheck', effect: remedies[code] },
    { decision: 'cancel', effect: `leave ${name} out of ${batch}; ${source}` },
  ];
}
