import type { LookupRequest } from '../contracts/lookup.ts';
import { isLine, isText, object, optional, shapeProblem, type Rules } from '../domain/shape.ts';

const place = { datacenter: isLine, folder: optional(isText) };

const questions: Readonly<Record<LookupRequest['what'], Rules>> = {
  endpoints: {},
  endpoint: { name: isText },
  template: { vcenter: isText, placement: object(place), name: isText, rollbackPrefix: optional(isText) },
  templates: { vcenter: isText, ...place },
  ova: { location: isLine, headersRef: optional(isText) },
  worker: {},
  vms: { namespace: optional(isLine), selector: optional(isText), name: optional(isLine), after: optional(isText) },
  vm: { namespace: isLine, name: isLine },
  vmops: { namespace: optional(isLine), vmName: optional(isLine), after: optional(isText) },
  vmop: { namespace: optional(isLine), nameOrUid: isLine },
  sets: { namespace: optional(isLine), selector: optional(isText), name: optional(isLine), after: optional(isText) },
  set: { namespace: isLine, name: isLine },
  node: { name: isLine },
  nodes: {},
  'batch-plan': { spec: object({ name: isLine }) },
  sources: {},
  'source-vms': { source: isLine, filter: optional(isText), after: optional(isText) },
  targets: {},
  orphans: {},
  placement: { batch: isLine, uuid: isLine },
  named: { name: isLine, namespace: optional(isLine), kinds: (value) => Array.isArray(value) && value.every(isLine) },
};

/** Why this is no question; undefined when it is one. */
export function lookupProblem(request: unknown): string | undefined {
  const problem = shapeProblem(request, { what: isText });
  if (problem !== undefined) return problem;
  const { what } = request as LookupRequest;
  return Object.hasOwn(questions, what)
    ? shapeProblem(request, questions[what])
    : `there is nothing called "${what}" to look up`;
}
