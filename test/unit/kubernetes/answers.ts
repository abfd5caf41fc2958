import type { ApiAnswer, ApiRequest, Transport } from '../../../activities/kubernetes/transport.ts';

export interface StatusParts {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: object;
}

/** A refusal as an API server words it. */
export function statusAnswer(status: number, parts: StatusParts = {}): ApiAnswer {
  return {
    status,
    text: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, ...parts }),
  };
}

export function objectAnswer(body: object, status = 200): ApiAnswer {
  return { status, text: JSON.stringify(body) };
}

export interface ScriptedTransport extends Transport {
  readonly requests: readonly ApiRequest[];
}

/** Answers requests one after the other; `/readyz` has its own answers. */
export function scriptedTransport(
  answers: readonly (ApiAnswer | Error)[],
  readiness: readonly ApiAnswer[] = [],
): ScriptedTransport {
  const [left, leftReady] = [[...answers], [...readiness]];
  const requests: ApiRequest[] = [];
  return {
    requests,
    send(request) {
      requests.push(request);
      const answer = (request.path === '/readyz' ? leftReady : left).shift();
      if (answer === undefined) return Promise.reject(new Error(`Nobody expected ${request.method} ${request.path}`));
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    watch: () => Promise.reject(new Error('not scripted')),
    close: () => Promise.resolve(),
  };
}
