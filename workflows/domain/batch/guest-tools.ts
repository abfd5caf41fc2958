import type { BatchSpec, InstanceRecord } from './records.ts';

/** What a batch says of a running VM whose guest can't be asked to shut down; undefined: it can, or nobody knows. */
export function withoutGuestTools(
  { running, guest_tools, location }: Pick<InstanceRecord, 'running' | 'guest_tools' | 'location'>,
  { no_guest_tools }: Pick<BatchSpec['config'], 'no_guest_tools'>,
): { readonly policy: 'ask' | 'skip'; readonly why: string } | undefined {
  if (!running || guest_tools !== false || no_guest_tools === 'power-off') return undefined;
  const what = `NO_GUEST_TOOLS: the guest tools of ${location} do not run: it could only be switched off hard, as by a power cut`;
  const why = no_guest_tools === 'skip' ? `${what}; its batch leaves such VMs out (no_guest_tools: skip)` : what;
  return { policy: no_guest_tools, why };
}
