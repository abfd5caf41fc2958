import type { Placement, TemplateNaming, TemplateSwapRequest } from '../../workflows/contracts/template.ts';
import { folderPath } from '../../workflows/contracts/ids.ts';

/** Memo of an execution of `templateSwap`: what lists show and what the next update of the template starts from. */
export interface TemplateMemo {
  readonly name: string;
  /** `/DC0/vm/templates`. */
  readonly folder: string;
  readonly vcenter: string;
  readonly version: string;
  readonly by?: string;
  readonly placement: Placement;
  readonly naming: TemplateNaming;
  /** Set for a plan: it says nothing about the version in use. */
  readonly dryRun?: boolean;
}

export function memoOf(request: TemplateSwapRequest): TemplateMemo {
  return {
    name: request.template.prodName,
    folder: folderPath(request.placement),
    vcenter: request.vcenter,
    version: request.target.version,
    ...(request.by === undefined ? {} : { by: request.by }),
    placement: request.placement,
    naming: request.template,
    ...(request.options?.dryRun === true ? { dryRun: true } : {}),
  };
}

/** The memo as it comes back; undefined for an execution that somebody else started without one. */
export function readMemo(memo: Readonly<Record<string, unknown>>): TemplateMemo | undefined {
  const { name, vcenter, folder, version } = memo;
  const isOurs = [name, vcenter, folder, version].every((value) => typeof value === 'string');
  return isOurs && typeof memo.placement === 'object' && memo.placement !== null
    ? (memo as unknown as TemplateMemo)
    : undefined;
}
