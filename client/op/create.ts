import type { VmRequest } from '../../workflows/contracts/vmop.ts';
import { inWords } from '../../workflows/domain/vmop/matrix.ts';
import type { Action } from '../commands/command.ts';
import { readNamed } from '../documents.ts';
import { usageError } from '../errors.ts';
import type { Session } from '../session.ts';
import { askAndShow, type Job } from '../vm/act.ts';
import { confirmIntent } from '../vm/confirm.ts';
import { omit } from '../objects.ts';
import type { PlaceFlags } from '../vm/place.ts';
import { resolveVm } from '../vm/targets.ts';
import { readManifests, type Manifest } from './manifest.ts';
import type { WaitFlags } from './wait.ts';

export interface CreateFlags extends PlaceFlags, WaitFlags {
  readonly file?: string;
  readonly yes?: boolean;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** `op create -f FILE`: the operations of manifests, asked for one after the other in their order. */
export const createOperations: Action<CreateFlags> = async (session, _args, flags) => {
  const { text, shown } = await readNamed(session, flags.file);
  const manifests = await readManifests(text, shown);
  const jobs: Job[] = [];
  for (const manifest of manifests) jobs.push(await jobOf(session, manifest, flags));
  if (flags.dryRun !== true) await confirmJobs(session, jobs, flags);
  return await askAndShow(session, jobs, flags, { inTurn: true });
};

async function jobOf(session: Session, { metadata, spec }: Manifest, flags: CreateFlags): Promise<Job> {
  const { namespace } = metadata;
  if (namespace !== undefined && flags.kubeNamespace !== undefined && namespace !== flags.kubeNamespace)
    throw usageError(`the file is for namespace ${namespace}, but -n says ${flags.kubeNamespace}`);
  const vm =
    namespace === undefined
      ? await resolveVm(session, spec.virtualMachineName, flags)
      : { namespace, name: spec.virtualMachineName };
  const name = metadata.name ?? generatedName(session, metadata.generateName);
  const request: VmRequest = {
    spec: omit(spec, 'virtualMachineName'),
    by: session.runtime.user(),
    ...(name === undefined ? {} : { name }),
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
    ...(flags.dryRun === true ? { dryRun: true } : {}),
  };
  return { vm, request, verb: 'create an operation on' };
}

/** As the API server makes them; five characters. */
function generatedName(session: Session, begin: string | undefined): string | undefined {
  return begin === undefined ? undefined : `${begin}${session.runtime.random().replaceAll('-', '').slice(0, 5)}`;
}

/** The same questions as for the short forms. */
async function confirmJobs(session: Session, jobs: readonly Job[], flags: CreateFlags): Promise<void> {
  const [first] = jobs;
  if (first === undefined) return;
  const cutting = jobs.find(({ request: { spec } }) => spec.force === true && ['Stop', 'Restart'].includes(spec.type));
  const { spec } = (cutting ?? first).request;
  const verbs = [...new Set(jobs.map(({ request }) => inWords(request.spec)))].join('; ');
  const intent = { verb: verbs, type: spec.type, ...(spec.force === undefined ? {} : { force: spec.force }) };
  await confirmIntent(session, { targets: jobs.map(({ vm }) => vm), isSelected: false }, intent, flags);
}
