import type { TemplateActivities, ValidatedSwap } from '../../workflows/contracts/activities.ts';
import { canonicalFolder } from '../../workflows/domain/template/paths.ts';
import { swapNames } from '../../workflows/domain/template/names.ts';
import { z } from 'zod';
import { OperationError } from '../failures.ts';
import { templateSwapFleetRequestSchema, templateSwapRequestSchema } from '../schemas/template.ts';

/** Anyone can start a workflow with free-form JSON: nothing of it is trusted before this. */
function parse<S extends z.ZodType>(schema: S, value: unknown, what: string): z.infer<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const code = /\b(NAME_TOO_LONG|NAME_INVALID|RESERVED_NAME|PREFIX_INVALID|DUPLICATE_TARGET)\b/.exec(
    parsed.error.message,
  )?.[1];
  throw new OperationError('InvalidRequest', `${what} is not valid: ${z.prettifyError(parsed.error)}`, {
    code: code ?? 'REQUEST_INVALID',
  });
}

export const validateTemplateSwap: TemplateActivities['validateTemplateSwap'] = (request) => {
  const complete = parse(templateSwapRequestSchema, request, 'the request to update a template');
  const { prodName, tempPrefix, rollbackPrefix } = complete.template;
  const validated: ValidatedSwap = {
    request: complete,
    names: swapNames(prodName, tempPrefix, rollbackPrefix),
    folderPath: canonicalFolder(complete.placement.datacenter, complete.placement.folder),
  };
  return Promise.resolve(validated);
};

export const validateTemplateSwapFleet: TemplateActivities['validateTemplateSwapFleet'] = (request) =>
  Promise.resolve(parse(templateSwapFleetRequestSchema, request, 'the request to update templates'));
