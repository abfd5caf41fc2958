import { isDeepStrictEqual } from 'node:util';
import type { Registry, RegistryEndpoint } from './port.ts';
import { createRegistry, type RegistryOptions } from './undici-adapter.ts';

/** The registries of a process, by name. */
export interface Registries {
  /** Keeps connections and tokens; begins anew when the address or a secret is another one. Fails like `createRegistry`. */
  of(endpoint: RegistryEndpoint): Registry;
  close(): Promise<void>;
}

export function createRegistries(options: RegistryOptions): Registries {
  const open = new Map<string, { readonly endpoint: RegistryEndpoint; readonly registry: Registry }>();
  return {
    of(endpoint) {
      const known = open.get(endpoint.name);
      if (known !== undefined && isDeepStrictEqual(known.endpoint, endpoint)) return known.registry;
      const registry = createRegistry(endpoint, options);
      void known?.registry.close(); // ends when what is under way on it has ended
      open.set(endpoint.name, { endpoint, registry });
      return registry;
    },
    async close() {
      await Promise.all([...open.values()].map(({ registry }) => registry.close()));
      open.clear();
    },
  };
}
