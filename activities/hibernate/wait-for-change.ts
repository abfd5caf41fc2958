import { Context } from '@temporalio/activity';
import type { HibernateWaits, Known } from '../../workflows/contracts/activities.ts';
import type { SetName } from '../../workflows/contracts/hibernate.ts';
import { textOf, type Decision } from '../../workflows/domain/hibernate/decide.ts';
import { fingerprint } from '../../workflows/domain/hibernate/fingerprint.ts';
import { podNameOf } from '../../workflows/domain/hibernate/names.ts';
import { whileBeating } from '../heartbeat.ts';
import { untilAnswered, type WatchedObject } from '../kubernetes/await-change.ts';
import type { KubeObject } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import { seen, type HibernateDeps } from './deps.ts';
import { hibernationFactsOf, podFactsOf, setFactsOf } from './facts.ts';
import { isQueued } from './gate.ts';
import { outcomeOf } from './guarded.ts';
import { observationOf, observe, type Sight } from './observe.ts';
import { nodeFactsOf } from './resources.ts';
import { decideNow, show } from './turn.ts';

/**
 * Shows the wait, then waits until something else would be decided. Waiting costs next to nothing: a change that the
 * shared watches see is looked at only when it matters, and everything is read again now and then.
 */
export function createWaitForChange(deps: HibernateDeps): HibernateWaits['waitForChange'] {
  return async ({ scope, known, decided, until, queuedAs }) => {
    const { settings } = deps;
    const end = Math.min(Date.now() + settings.waitCeilingMs, until === undefined ? Infinity : Date.parse(until));
    let isShown = false;
    const wait = new ChangeFilter(deps, scope);
    return await whileBeating(
      () => ({ waitingFor: `a change of set ${scope.namespace}/${scope.name}` }),
      () =>
        untilAnswered(deps.cluster, wait.objects, Context.current().cancellationSignal, async () => {
          const remaining = end - Date.now();
          if (remaining > 0 && !wait.isWorthALook()) return { againInMs: Math.min(wait.pauseMs, remaining) };
          wait.looks();
          const sight = await observe(deps, scope, true);
          const decision = decideNow(deps, sight, known, scope.setUid);
          const isOver =
            textOf(decision) !== decided ||
            end <= Date.now() ||
            (queuedAs !== undefined && !(await isQueued(deps.temporal, queuedAs)));
          if (isOver) return { answer: seen(deps, observationOf(sight)) };
          wait.looked(sight);
          if (!isShown) await showWait(deps, sight, decision, known);
          isShown = true;
          return { againInMs: Math.max(1, Math.min(wait.pauseMs, end - Date.now())) };
        }),
    );
  };
}

async function showWait(deps: HibernateDeps, sight: Sight, decision: Decision, known: Known): Promise<void> {
  await outcomeOf(async () => {
    await show(deps, sight, decision, known);
    return 'done';
  });
}

/** Tells whether another look at everything is due: something that matters changed, or the last look is old. */
class ChangeFilter {
  readonly objects: WatchedObject[] = [];
  readonly #deps: HibernateDeps;
  readonly #scope: SetName;
  #before = '';
  #lookedAt = 0;
  #isRegistrySilent = false;

  constructor(deps: HibernateDeps, scope: SetName) {
    this.#deps = deps;
    this.#scope = scope;
    const { namespace, name } = scope;
    const pod = podNameOf(name, 0);
    this.objects = [
      { resource: resources.set, namespace, name },
      { resource: resources.pod, namespace, name: pod },
      { resource: resources.hibernation, namespace, name: pod },
      { resource: resources.node, namespace: '' },
    ];
  }

  /** A registry that doesn't answer is asked more often: nothing watches it. */
  get pauseMs(): number {
    const { reReadMs, pollFloorMs } = this.#deps.settings;
    const due = this.#lookedAt + (this.#isRegistrySilent ? pollFloorMs : reReadMs) - Date.now();
    return Math.max(due, 1);
  }

  isWorthALook(): boolean {
    return this.pauseMs === 1 || this.#cached() !== this.#before;
  }

  /** Before a look: what changes while it lasts is looked at again. */
  looks(): void {
    this.#before = this.#cached();
  }

  looked(sight: Sight): void {
    this.#lookedAt = Date.now();
    this.#isRegistrySilent = sight.tag.state === 'unknown';
  }

  /** The fingerprint as the watches know the world. */
  #cached(): string {
    const { cluster } = this.#deps;
    const { namespace, name } = this.#scope;
    const podName = podNameOf(name, 0);
    const set = cluster.watch(resources.set).get(namespace, name);
    if (set === undefined) return 'gone';
    const pod = cluster.watch(resources.pod).get(namespace, podName);
    const hibernation = cluster.watch(resources.hibernation).get(namespace, podName);
    const setFacts = setFactsOf(set, []);
    const podFacts = pod === undefined ? undefined : podFactsOf(pod, set.metadata.uid);
    const source = this.#node(podFacts?.nodeName ?? '');
    const target = this.#node(setFacts.nodeName);
    return fingerprint({
      set: setFacts,
      ...(podFacts === undefined ? {} : { pod: podFacts }),
      hibernations: hibernation === undefined ? [] : [hibernationFactsOf(hibernation)],
      ...(source === undefined ? {} : { source }),
      ...(target === undefined ? {} : { target }),
      tag: { state: 'unread' },
    });
  }

  #node(name: string): ReturnType<typeof nodeFactsOf> | undefined {
    const node: KubeObject | undefined =
      name === '' ? undefined : this.#deps.cluster.watch(resources.node).get('', name);
    return node === undefined ? undefined : nodeFactsOf(node, this.#deps.cluster.watch(resources.pod).items());
  }
}
