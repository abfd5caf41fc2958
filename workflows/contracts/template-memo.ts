import { folderPath } from './ids.ts';
import type { Placement, TemplateNaming, TemplateSwapRequest } from './template.ts';

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
