import { ClusterError, type KubeObject, type Resource } from './port.ts';
import type { ApiAnswer } from './transport.ts';

/** All objects of a kind at one moment; changes after it are asked for by its version. */
export interface ListPage {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
}

/** What an object of this kind begins with. Lists of built-in kinds leave it out. */
export function headOf({ group, version, kind }: Resource): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind };
}

export function parseObject(answer: ApiAnswer, attempt: string): KubeObject {
  return parse(answer, attempt) as KubeObject;
}

export function parseList(answer: ApiAnswer, resource: Resource, attempt: string): ListPage {
  const list = parse(answer, attempt) as {
    readonly items?: readonly KubeObject[] | null;
    readonly metadata?: { readonly resourceVersion?: string };
  };
  return {
    items: (list.items ?? []).map((item) => ({ ...headOf(resource), ...item })),
    resourceVersion: list.metadata?.resourceVersion ?? '',
  };
}

/** The API server's own answers are JSON: anything else comes from something in between. */
function parse({ text, status }: ApiAnswer, attempt: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ClusterError('Unavailable', `The request to ${attempt} was answered, but not by a Kubernetes API.`, {
      status,
    });
  }
}
