import { isLine, isText, object, optional, shapeProblem, type Rule, type Rules } from '../shape.ts';

const version: Rule = (value) => typeof value === 'string' && value.trim() !== '' && value.trim().length <= 128;
const digest: Rule = (value) => typeof value === 'string' && /^[0-9a-fA-F]{64}$/.test(value);
const size: Rule = (value) => typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
const absolutePath: Rule = (value) => typeof value === 'string' && value.startsWith('/');
/** A query may be a signature, user info a password: both come by reference. */
const cleanUrl: Rule = (value) => typeof value === 'string' && /^https?:\/\/[^\s/?#@]+(?:[/#][^\s?]*)?$/i.test(value);

/** As much as has to be right before the whole is checked where a schema can be used. */
const swapRequest: Rules = {
  vcenter: isText,
  placement: object({ datacenter: isText, folder: optional(isText) }),
  template: object({ prodName: isText, tempPrefix: optional(isText), rollbackPrefix: optional(isText) }),
  source: object({ sha256: isText }),
  target: object({ version: isText }),
  by: optional(isText),
};

/** Why this can't be a request to swap a template; undefined when it may be one. */
export function swapRequestProblem(value: unknown): string | undefined {
  return shapeProblem(value, swapRequest);
}

/** Why this can't be a request to swap several templates. */
export function fleetRequestProblem(value: unknown): string | undefined {
  const problem = shapeProblem(value, { templates: Array.isArray });
  if (problem !== undefined) return problem;
  const { templates } = value as { readonly templates: readonly unknown[] };
  const problems = templates.map(swapRequestProblem);
  const at = problems.findIndex((entry) => entry !== undefined);
  return at < 0 ? undefined : `templates[${at}]: ${problems[at]}`;
}

const sources: Readonly<Record<string, Rules>> = {
  file: { path: absolutePath, sha256: digest, size: optional(size), url: isAbsent, headersRef: isAbsent },
  http: { url: cleanUrl, sha256: digest, size: optional(size), headersRef: optional(isLine), path: isAbsent },
};

function isAbsent(value: unknown): boolean {
  return value === undefined;
}

/** Why this is no new target; undefined when it is one. */
export function retargetProblem(value: unknown): string | undefined {
  const problem = shapeProblem(value, { source: object({ kind: isText }), target: object({ version }), by: isLine });
  if (problem !== undefined) return problem;
  const { source, reason } = value as { readonly source: { readonly kind: string }; readonly reason?: unknown };
  if (!optional(isText)(reason)) return '"reason" is no text';
  const rules = Object.hasOwn(sources, source.kind) ? sources[source.kind] : undefined;
  if (rules === undefined) return '"source.kind" is neither "file" nor "http"';
  const inSource = shapeProblem(source, rules);
  return inSource === undefined ? undefined : `source: ${inSource}`;
}
