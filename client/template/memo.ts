import type { TemplateMemo } from '../../workflows/contracts/template-memo.ts';

/** The memo as it comes back; undefined for an execution that somebody else started without one. */
export function readMemo(memo: Readonly<Record<string, unknown>>): TemplateMemo | undefined {
  const { name, vcenter, folder, version } = memo;
  const isOurs = [name, vcenter, folder, version].every((value) => typeof value === 'string');
  return isOurs && typeof memo.placement === 'object' && memo.placement !== null
    ? (memo as unknown as TemplateMemo)
    : undefined;
}
