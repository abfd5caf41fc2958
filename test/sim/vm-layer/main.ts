import { parseDuration, parsePhaseDelays } from './behaviour.ts';
import { delayAnnotations, switches, type Delays } from './switches.ts';
import { startVmLayer } from './vm-layer.ts';

/**
 * The VM layer as a process of its own. `KUBECONFIG` says where; delays of all VMs are read from variables named after them
 * (`VM_LAYER_BOOT_DELAY=3s`), those of one VM from its annotations.
 */
const kubeconfig = process.env['KUBECONFIG'];
if (kubeconfig === undefined)
  throw new Error('Set KUBECONFIG to the path of a kubeconfig of the user that plays the VM layer.');
const layer = await startVmLayer({
  kubeconfig,
  delays: delaysFrom(process.env),
  onFailure: (error) => console.error(error.message),
});
console.log(
  `VM layer ready. Annotate a VirtualMachine to change how it behaves: ${[...Object.values(switches), ...Object.values(delayAnnotations)].join(', ')}.`,
);
await new Promise<void>((resolve) => {
  process.once('SIGINT', resolve);
  process.once('SIGTERM', resolve);
});
await layer.stop();

function delaysFrom(env: NodeJS.ProcessEnv): Partial<Delays> {
  const given = (Object.keys(delayAnnotations) as (keyof Delays)[]).flatMap((name) => {
    const variable = variableOf(name);
    const text = env[variable];
    if (text === undefined) return [];
    return [[name, name === 'migration' ? parsePhaseDelays(text, variable) : parseDuration(text, variable)]];
  });
  return Object.fromEntries(given) as Partial<Delays>;
}

/** `bootDelay` → `VM_LAYER_BOOT_DELAY`, `migration` → `VM_LAYER_MIGRATION_DELAY`: as the annotation is called. */
function variableOf(name: keyof Delays): string {
  return `VM_LAYER_${delayAnnotations[name].replace('test/', '').replaceAll('-', '_').toUpperCase()}`;
}
