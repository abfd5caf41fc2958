import type { VmLayer, VmLayerOptions } from './types.ts';

/** Starts the layer; resolves when it sees what is there. */
export function startVmLayer(options: VmLayerOptions): Promise<VmLayer> {
  return Promise.reject(new Error(`The VM layer for ${options.kubeconfig} is not there yet.`));
}
