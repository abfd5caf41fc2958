import { isDeepStrictEqual } from 'node:util';
import { createTarget, type TargetOptions } from './incus-adapter.ts';
import type { Target, TargetEndpoint } from './port.ts';

/** The targets of a process, by name. */
export interface Targets {
  /** Keeps connections; begins anew when the address or a secret is another one. Fails like `createTarget`. */
  of(endpoint: TargetEndpoint): Target;
  close(): Promise<void>;
}

export function createTargets(options: TargetOptions): Targets {
  const open = new Map<string, { readonly endpoint: TargetEndpoint; readonly target: Target }>();
  return {
    of(endpoint) {
      const known = open.get(endpoint.name);
      if (known !== undefined && isDeepStrictEqual(known.endpoint, endpoint)) return known.target;
      const target = createTarget(endpoint, options);
      void known?.target.close(); // ends when what is under way on it has ended
      open.set(endpoint.name, { endpoint, target });
      return target;
    },
    async close() {
      await Promise.all([...open.values()].map(({ target }) => target.close()));
      open.clear();
    },
  };
}
