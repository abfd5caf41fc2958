import type { Answer } from './answers.ts';
import type { Effect } from './faults.ts';
import type { Server } from './server.ts';

/** One request as a handler sees it. */
export interface Request {
  readonly server: Server;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly project: string;
  readonly body: unknown;
  readonly ifMatch: string | undefined;
  readonly effect: Effect | undefined;
}

export type Handler = (request: Request) => Answer | Promise<Answer>;

export interface Route {
  readonly method: string;
  /** `:name` takes one part of the path. */
  readonly path: string;
  readonly handle: Handler;
}

/** Undefined: there is no such route. */
export function findRoute(
  routes: readonly Route[],
  method: string,
  path: string,
): { readonly handle: Handler; readonly params: Readonly<Record<string, string>> } | undefined {
  for (const route of routes) {
    const params = route.method === method ? paramsOf(route.path, path) : undefined;
    if (params !== undefined) return { handle: route.handle, params };
  }
  return undefined;
}

export function paramsOf(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/');
  const found = path.split('/');
  if (wanted.length !== found.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = decodeURIComponent(found[index] ?? '');
    if (part.startsWith(':')) params[part.slice(1)] = value;
    else if (part !== value) return undefined;
  }
  return params;
}

/** URL of an object as lists give it. */
export function urlOf(path: string, project: string): string {
  return project === 'default' ? path : `${path}?project=${encodeURIComponent(project)}`;
}
