import type { BatchSpec, InstanceRecord } from './records.ts';

/**
 * What a batch says of a running VM whose guest can't be asked to shut down; undefined: it can, or nobody knows. `why` begins with the
 * code, for where nothing else tells it.
 */
export function withoutGuestTools(
  { running, guest_tools, location }: Pick<InstanceRecord, 'running' | 'guest_tools' | 'location'>,
  { no_guest_tools }: Pick<BatchSpec['config'], 'no_guest_tools'>,
): { readonly policy: 'ask' | 'skip'; readonly what: string; readonly why: string } | undefined {
  if (!running || guest_tools !== false || no_guest_tools === 'power-off') return undefined;
  const what = `the guest tools of ${location} do not run: it could only be switched off hard, as by a power cut`;
  const left = no_guest_tools === 'skip' ? '; its batch leaves such VMs out (no_guest_tools: skip)' : '';
  return { policy: no_guest_tools, what, why: `NO_GUEST_TOOLS: ${what}${left}` };
}
