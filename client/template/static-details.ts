import { folderPath, templateSwapId } from '../../workflows/contracts/ids.ts';
import type { TemplateSwapRequest } from '../../workflows/contracts/template.ts';
import { code, codeBlock, pane, plain } from '../../workflows/domain/markdown.ts';
import { quote } from './render.ts';
import { withoutQuery } from './request.ts';

/** The fixed part of the Web UI's details pane: who asked for what, and how to go on from a terminal. */
export function staticDetails(request: TemplateSwapRequest): string {
  const { source, target, template, placement, vcenter, by = 'somebody' } = request;
  const origin = source.kind === 'file' ? source.path : withoutQuery(source.url);
  const shown = { ...request, source: { ...source, ...(source.kind === 'http' ? { url: origin } : {}) } };
  const wish = request.options?.dryRun === true ? 'asked for a plan to update' : 'asked to update';
  // The id names one template even where several folders or vCenters have one of that name.
  const id = quote(templateSwapId(request));
  return pane([
    `**${plain(by)}** ${wish} template ${code(template.prodName)} in ${code(folderPath(placement))} on ${code(vcenter)} to **${plain(target.version)}** from ${code(origin)}.`,
    codeBlock(['get', 'watch', 'cancel'].map((verb) => `vmflow template ${verb} ${id}`).join('\n')),
    codeBlock(JSON.stringify(shown, undefined, 2), 'json'),
  ]);
}
