import type { Cluster, KubeObject } from '../../../activities/kubernetes/port.ts';
import { resources } from '../../../activities/kubernetes/resources.ts';
import { behaviourOf, noDelays } from './behaviour.ts';
import type { ObjectCache } from './object-cache.ts';
import { finalizers, vmStatus } from './objects.ts';
import { switches } from './switches.ts';
import type { NewVm, VmLayer, VmView } from './types.ts';
import type { Waiting } from './waiting.ts';

type Controls = Pick<VmLayer, 'createVm' | 'annotate' | 'patchSpec' | 'vm' | 'waitForVm' | 'waitForNoVm'>;

/** No measure of speed: what never happens costs this once, what happens costs nothing. */
const patienceMs = 60_000;

/** What a test does with VMs of the layer. */
export function createControls(cluster: Cluster, cache: ObjectCache, waiting: Waiting): Controls {
  const view = (namespace: string, name: string): VmView | undefined => viewOf(cache, namespace, name);

  const waitForVm: VmLayer['waitForVm'] = (namespace, name, predicate, timeoutMs = patienceMs) => {
    const probe = (): VmView | undefined => {
      const vm = view(namespace, name);
      return vm !== undefined && predicate(vm) ? vm : undefined;
    };
    return waiting.until(
      `${namespace}/${name}`,
      probe,
      timeoutMs,
      () => `VM ${namespace}/${name}: ${describe(view(namespace, name))}`,
    );
  };

  async function change(namespace: string, name: string, work: (vm: KubeObject) => object): Promise<void> {
    const vm = await cluster.get(resources.vm, namespace, name);
    if (vm === undefined) throw new Error(`There is no VM ${namespace}/${name} to change.`);
    const operations = Object.entries(work(vm)).map(([path, value]) => ({
      op: 'add' as const,
      path,
      value: value as unknown,
    }));
    cache.put('vm', await cluster.patch(resources.vm, namespace, name, operations));
  }

  return {
    async createVm(namespace, name, vm = {}) {
      const annotations = annotationsFor(vm);
      behaviourOf(annotations, noDelays); // an error is told here, not when waiting has timed out
      const created = await cluster.create(resources.vm, namespace, {
        metadata: { name, namespace, annotations, finalizers: [finalizers.vm] },
        spec: specOf(vm),
      });
      cache.put('vm', created);
      const isSettled = vm.settled ?? (({ phase }: VmView): boolean => phase === expectedPhase(vm));
      const { uid } = created.metadata;
      return await waitForVm(
        namespace,
        name,
        (now) => now.uid === uid && now.object.status !== undefined && isSettled(now),
        vm.timeoutMs ?? patienceMs,
      );
    },
    annotate: (namespace, name, annotations) =>
      change(namespace, name, ({ metadata }) => {
        const wanted = Object.entries({ ...metadata.annotations, ...annotations });
        return { '/metadata/annotations': Object.fromEntries(wanted.filter(([, value]) => value !== undefined)) };
      }),
    patchSpec: (namespace, name, spec) => change(namespace, name, (vm) => ({ '/spec': { ...vm.spec, ...spec } })),
    vm: view,
    waitForVm,
    async waitForNoVm(namespace, name, timeoutMs = patienceMs) {
      const isGone = (): true | undefined =>
        (['vm', 'machine', 'instance'] as const).every((kind) => cache.get(kind, namespace, name) === undefined)
          ? true
          : undefined;
      await waiting.until(
        `${namespace}/${name}`,
        isGone,
        timeoutMs,
        () => `the end of VM ${namespace}/${name}: ${describe(view(namespace, name))}`,
      );
    },
  };
}

function viewOf(cache: ObjectCache, namespace: string, name: string): VmView | undefined {
  const object = cache.get('vm', namespace, name);
  if (object === undefined) return undefined;
  const [machine, instance] = [cache.get('machine', namespace, name), cache.get('instance', namespace, name)];
  const { phase = 'Pending', nodeName } = vmStatus(object);
  return {
    namespace,
    name,
    uid: object.metadata.uid,
    phase,
    ...(nodeName === undefined ? {} : { nodeName }),
    object,
    ...(machine === undefined ? {} : { machine }),
    ...(instance === undefined ? {} : { instance }),
    migrations: cache.migrationsOf(namespace, name),
  };
}

function describe(vm: VmView | undefined): string {
  if (vm === undefined) return 'it is not there';
  const { phase, machine, instance, migrations } = vm;
  const parts = {
    machine: machine?.status,
    instance: instance?.status,
    migrations: migrations.map(({ status }) => status),
  };
  return `it is ${phase}, with ${JSON.stringify(parts)}`;
}

function isToRun({ runPolicy = 'AlwaysOnUnlessStoppedManually', running }: NewVm): boolean {
  if (runPolicy === 'AlwaysOn' || runPolicy === 'AlwaysOff') {
    const runs = runPolicy === 'AlwaysOn';
    if ((running ?? runs) !== runs)
      throw new Error(`A VM with the run policy ${runPolicy} can't be created otherwise.`);
    return runs;
  }
  return running ?? runPolicy === 'AlwaysOnUnlessStoppedManually';
}

function expectedPhase(vm: NewVm): VmView['phase'] {
  if (!isToRun(vm)) return 'Stopped';
  const { annotations = {} } = vm;
  const isKept = [switches.unschedulable, switches.blockInstanceCreation].some((key) => annotations[key] === 'true');
  return isKept ? 'Pending' : annotations[switches.paused] === 'true' ? 'Pause' : 'Running';
}

function annotationsFor(vm: NewVm): Readonly<Record<string, string>> {
  const isStarted = { [switches.startOnCreation]: String(isToRun(vm)) };
  return { ...(vm.running === undefined ? {} : isStarted), ...vm.annotations };
}

function specOf({ runPolicy, liveMigrationPolicy, terminationGracePeriodSeconds }: NewVm): object {
  return {
    ...(runPolicy === undefined ? {} : { runPolicy }),
    ...(liveMigrationPolicy === undefined ? {} : { liveMigrationPolicy }),
    ...(terminationGracePeriodSeconds === undefined ? {} : { terminationGracePeriodSeconds }),
  };
}
