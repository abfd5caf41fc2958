import type { FinalizeInput, TemplateActivities } from '../../workflows/contracts/activities.ts';
import { toWireName } from '../../workflows/domain/template/names.ts';
import { OperationError } from '../failures.ts';
import { raiseFence, whileBeating, type Fence } from '../heartbeat.ts';
import type { ObjectContent, VSphereSession, VmReconfiguration } from '../vsphere/port.ts';
import { onVCenter } from '../vsphere/on-vcenter.ts';
import type { TemplateDeps } from './deps.ts';
import { markerEntries, readMarker } from './marker.ts';
import { observeNames } from './observe.ts';
import { asRef, field, fieldOf, list } from './read-vm.ts';
import { reobserve } from './rename.ts';

const paths = [
  'name',
  'parent',
  'config.template',
  'config.extraConfig',
  'config.annotation',
  'config.bootOptions',
  'config.hardware.device',
  'summary.config.product',
];

/** Makes the imported VM a finished template. Every step looks first, so it may run any number of times. */
export function createFinalizeTemp(deps: TemplateDeps): TemplateActivities['finalizeTemp'] {
  return async (input) => {
    const fence = raiseFence(deps.liveness);
    try {
      return await onVCenter(deps, input.scope.vcenter, `finish ${input.scope.names.temp}`, (session) =>
        whileBeating(
          () => ({ v: 1, phase: `finishing ${input.scope.names.temp}` }),
          async () => {
            await finalize(session, input, fence);
            return await observeNames(session, input.scope);
          },
        ),
      );
    } finally {
      fence.dispose();
    }
  };
}

async function finalize(session: VSphereSession, input: FinalizeInput, fence: Fence): Promise<void> {
  const before = await read(session, input);
  if (before.props.get('config.template') === true) {
    // Of an earlier run: what it lacks can't be made up for any more, but it must not be swapped in unseen.
    verify(before, input);
    await attachTags(session, input, fence);
    return;
  }
  const settings = settingsFor(before, input);
  if (settings !== undefined) await reconfigure(session, input, settings, fence);
  await attachTags(session, input, fence);
  verify(await read(session, input), input);
  const marker = readyMarker(before, input);
  if (!isMarked(before, marker)) await reconfigure(session, input, { extraConfig: marker }, fence);
  await fence.check();
  await session.markAsTemplate(input.vm);
}

async function read(session: VSphereSession, input: FinalizeInput): Promise<ObjectContent> {
  const [content] = await session.retrieve([input.vm], paths);
  if (content === undefined) throw reobserve(`${input.vm.value} is gone`);
  return content;
}

async function reconfigure(
  session: VSphereSession,
  input: FinalizeInput,
  change: VmReconfiguration,
  fence: Fence,
): Promise<void> {
  await fence.check();
  await session.waitForTask(await session.startReconfigure(input.vm, change));
}

/** Secure boot off and the annotation, where they aren't so yet. */
function settingsFor({ props }: ObjectContent, input: FinalizeInput): VmReconfiguration | undefined {
  const boot = props.get('config.bootOptions');
  const secure = field(boot, 'efiSecureBootEnabled') === 'true';
  const bootOptions =
    input.disableSecureBoot && secure
      ? { bootOptions: { ...(boot as Record<string, unknown>), efiSecureBootEnabled: false } }
      : {};
  const isAnnotated = input.annotation === undefined || props.get('config.annotation') === input.annotation;
  const annotation = isAnnotated ? {} : { annotation: input.annotation };
  const change: VmReconfiguration = { ...bootOptions, ...annotation };
  return Object.keys(change).length === 0 ? undefined : change;
}

/** Tags come before the template is ready, so that it appears under the production name with them. */
async function attachTags(session: VSphereSession, input: FinalizeInput, fence: Fence): Promise<void> {
  if (input.tagIds.length === 0) return;
  const attached = await session.attachedTags(input.vm);
  for (const tag of input.tagIds.filter((id) => !attached.includes(id))) {
    await fence.check();
    await session.attachTag(tag, input.vm);
  }
}

function verify({ props }: ObjectContent, input: FinalizeInput): void {
  const { scope } = input;
  const devices = list(props.get('config.hardware.device'));
  const disks = devices.filter((device) => field(device, '_type') === 'VirtualDisk').length;
  const problems = [
    props.get('name') === toWireName(scope.names.temp) ? undefined : `its name is ${String(props.get('name'))}`,
    asRef(props.get('parent'))?.value === scope.folder.value ? undefined : 'it is in another folder',
    input.disks === undefined || disks === input.disks ? undefined : `it has ${disks} disks instead of ${input.disks}`,
    devices.some((device) => isOnNetwork(device, input)) ? undefined : 'no network card is on the wanted network',
  ].filter((problem) => problem !== undefined);
  if (problems.length === 0) return;
  throw new OperationError(
    'Refused',
    `the imported VM ${input.vm.value} is not as it should be: ${problems.join('; ')}; it was not swapped in`,
    {
      code: 'IMPORT_NOT_AS_WANTED',
    },
  );
}

function isOnNetwork(device: unknown, input: FinalizeInput): boolean {
  const backing = fieldOf(device, 'backing');
  if (asRef(fieldOf(backing, 'network'))?.value === input.network.value) return true;
  return field(fieldOf(backing, 'port'), 'portgroupKey') === input.network.value;
}

function extraConfigOf({ props }: ObjectContent): readonly { key: string; value: unknown }[] {
  return list(props.get('config.extraConfig')) as { key: string; value: unknown }[];
}

/** An entry with an empty value is as good as none. */
function isMarked(vm: ObjectContent, marker: ReadonlyMap<string, string>): boolean {
  const values = new Map(extraConfigOf(vm).map(({ key, value }) => [key, String(value)]));
  return [...marker].every(([key, value]) => (values.get(key) ?? '') === value);
}

function readyMarker(vm: ObjectContent, { scope, replaces }: FinalizeInput): ReadonlyMap<string, string> {
  const product = field(vm.props.get('summary.config.product'), 'version');
  const current = readMarker(extraConfigOf(vm), vm.ref.value);
  return markerEntries({
    prod: scope.names.prod,
    opId: current?.opId === undefined || current.opId === '' ? scope.opId : current.opId,
    version: scope.target.version,
    sha256: scope.target.sha256,
    state: 'ready',
    vm: vm.ref.value,
    ...(replaces === undefined ? {} : { replaces: replaces.value }),
    ...(product === undefined || product === scope.target.version ? {} : { product }),
  });
}
