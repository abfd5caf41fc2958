import { Context } from '@temporalio/activity';
import type { HibernationRequestActivities, HibernationRequestWaits } from '../../workflows/contracts/activities.ts';
import type { HibernationAnswer, RequestHibernationInput } from '../../workflows/contracts/hibernation-request.ts';
import { cocoonKeys } from '../../workflows/contracts/hibernate.ts';
import { vmopKeys } from '../../workflows/contracts/vmop.ts';
import type { Condition } from '../../workflows/domain/conditions.ts';
import { hibernationPhases, type HibernationPhase } from '../../workflows/domain/hibernate/hibernation.ts';
import { isLive, type HibernationFacts } from '../../workflows/domain/hibernate/observation.ts';
import { OperationError } from '../failures.ts';
import { whileBeating } from '../heartbeat.ts';
import { untilAnswered } from '../kubernetes/await-change.ts';
import { setKeys } from '../kubernetes/change.ts';
import { ClusterError, type Cluster, type JsonPatchOperation, type KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { hibernationFactsOf, podFactsOf } from './facts.ts';

/** How often a request is worked out anew when somebody else was faster. */
const mostRounds = 5;
/** The object itself is read this often while it is waited for; its changes are seen at once. */
const readEveryMs = 30_000;

type Ask = Omit<RequestHibernationInput, 'namespace' | 'podName'> & { readonly pod: KubeObject };

/** Makes the CocoonHibernation of a Pod want what is asked; the rules of the API server decide. */
export function createHibernationRequest(cluster: Cluster): HibernationRequestActivities {
  return {
    async askHibernation({ namespace, podName, ...input }) {
      for (let round = 1; ; round++) {
        const [pod, object] = await Promise.all([
          cluster.get(resources.pod, namespace, podName),
          cluster.get(resources.hibernation, namespace, podName),
        ]);
        if (pod === undefined) throw noPod(namespace, podName);
        const ask = { ...input, pod };
        refuseWhatCannotBe(ask, object);
        try {
          return object === undefined ? await begin(cluster, ask) : await change(cluster, ask, object);
        } catch (err) {
          const isBeaten =
            err instanceof ClusterError && ['AlreadyExists', 'Conflict', 'NotFound'].includes(err.reason);
          if (!isBeaten || round === mostRounds) throw err;
        }
      }
    },
  };
}

function refuseWhatCannotBe({ desire, pod }: Ask, object: KubeObject | undefined): void {
  const { namespace, name, annotations = {} } = pod.metadata;
  const where = `${namespace}/${name}`;
  const refuse = (code: string, message: string, next: string): never => {
    throw new OperationError('Refused', message, { code, next });
  };
  if ((annotations[cocoonKeys.vmName] ?? '') === '')
    refuse('NO_VM_POD', `Pod ${where} is not the VM of a set: it names no VM`, `vmflow set list -n ${namespace}`);
  if (desire === 'Hibernate' && annotations[cocoonKeys.os] === 'macos')
    refuse(
      'GUEST_CANNOT_HIBERNATE',
      `the guest of ${where} (macos) can't hibernate`,
      `vmflow set list -n ${namespace}`,
    );
  if (object?.metadata.deletionTimestamp !== undefined)
    refuse(
      'HIBERNATION_DELETED',
      `the CocoonHibernation ${where} is being deleted and releases its VM`,
      `try again when it is gone: kubectl get ch ${name} -n ${namespace}`,
    );
}

/** There is no object yet. A wake needs one only to take back what a hibernation has done, so without one there is nothing to wake. */
async function begin(cluster: Cluster, ask: Ask): Promise<HibernationAnswer> {
  const { desire, pod, dryRun = false } = ask;
  const { namespace, name } = pod.metadata;
  if (desire === 'Wake') {
    const facts = podFactsOf(pod, '');
    if (!facts.hibernate && isLive(facts)) return { outcome: 'already-so' };
    throw new OperationError(
      'Refused',
      facts.hibernate
        ? `no CocoonHibernation holds ${namespace}/${name}: its set is suspended, or on its way to another node`
        : `the VM of ${namespace}/${name} doesn't sleep: it is starting, or has failed`,
      { code: 'NOT_HIBERNATED', next: `vmflow set list -n ${namespace}` },
    );
  }
  const body = { metadata: { name, namespace, annotations: notesOf(ask) }, spec: { podRef: { name }, desire } };
  const made = await cluster.create(resources.hibernation, namespace, body, { dryRun });
  return dryRun ? { outcome: 'would-create' } : { outcome: 'created', ...refOf(made) };
}

async function change(cluster: Cluster, ask: Ask, object: KubeObject): Promise<HibernationAnswer> {
  const { desire, dryRun = false } = ask;
  const facts = hibernationFactsOf(object);
  const phase = phaseOf(facts);
  const known = phase === undefined ? {} : { phase };
  const isSeen = facts.observedGeneration >= facts.generation;
  const hasFailed = phase === 'Failed' && isSeen;
  if (facts.desire === desire && !hasFailed) {
    const isSo = isSeen && phase === reached[desire];
    return isSo ? { outcome: 'already-so', ...known } : { outcome: 'in-progress', ...known, ...refOf(object) };
  }
  if (dryRun) return { outcome: 'would-change', ...known };
  const notes = setKeys(object, 'annotations', notesOf(ask));
  // A new attempt is one at a new generation, and only another desire makes one.
  const before =
    facts.desire === desire ? await wants(cluster, object, desire === 'Wake' ? 'Hibernate' : 'Wake', []) : object;
  return { outcome: 'changed', ...known, ...refOf(await wants(cluster, before, desire, notes)) };
}

function wants(
  cluster: Cluster,
  { metadata: { namespace, name, resourceVersion } }: KubeObject,
  desire: string,
  more: readonly JsonPatchOperation[],
): Promise<KubeObject> {
  return cluster.patch(resources.hibernation, namespace, name, [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'add', path: '/spec/desire', value: desire },
    ...more,
  ]);
}

const reached = { Hibernate: 'Hibernated', Wake: 'Active' } as const;

function notesOf({ by, reason }: Ask): Record<string, string> {
  return {
    ...(by === undefined ? {} : { [vmopKeys.requestedBy]: by }),
    ...(reason === undefined ? {} : { [vmopKeys.reason]: reason }),
  };
}

function refOf({ metadata: { uid, generation = 0 } }: KubeObject): { uid: string; generation: number } {
  return { uid, generation };
}

function phaseOf({ phase }: HibernationFacts): HibernationPhase | undefined {
  return hibernationPhases.find((one) => one === phase);
}

function noPod(namespace: string, name: string): OperationError {
  return new OperationError('NotFound', `there is no Pod "${name}" in namespace ${namespace}`, {
    code: 'POD_NOT_FOUND',
    next: `vmflow set list -n ${namespace}`,
  });
}

/** Waits for what the one who carries it out says about the generation that was asked for. */
export function createHibernationRequestWaits(cluster: Cluster): HibernationRequestWaits {
  return {
    async awaitHibernation({ namespace, podName: name, desire, uid, generation }) {
      const objects = [{ resource: resources.hibernation, namespace, name }];
      return await whileBeating(
        () => ({ waitingFor: `hibernation ${namespace}/${name}` }),
        () =>
          untilAnswered(cluster, objects, Context.current().cancellationSignal, async () => {
            const object = await cluster.get(resources.hibernation, namespace, name);
            if (object?.metadata.uid !== uid)
              return { answer: { outcome: 'deleted', message: `the CocoonHibernation ${namespace}/${name} is gone` } };
            const facts = hibernationFactsOf(object);
            if (facts.desire !== desire)
              return { answer: { outcome: 'superseded', message: `somebody wants the opposite: ${facts.desire}` } };
            const phase = facts.observedGeneration < generation ? undefined : phaseOf(facts);
            if (phase === reached[desire])
              return { answer: { outcome: phase, message: `the VM of ${namespace}/${name} is ${phase}` } };
            if (phase === 'Failed') return { answer: { outcome: phase, message: whyOf(object) } };
            return { againInMs: readEveryMs };
          }),
      );
    },
  };
}

/** In the words of the condition that changed last. */
function whyOf({ status }: KubeObject): string {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly Condition[] };
  const [last] = [...conditions].sort((a, b) => b.lastTransitionTime.localeCompare(a.lastTransitionTime));
  return last === undefined ? 'it took too long' : `${last.reason}: ${last.message}`;
}
