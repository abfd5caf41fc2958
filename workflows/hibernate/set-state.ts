import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { Seen } from '../contracts/activities.ts';
import type { CocoonSetStatus, SetName } from '../contracts/hibernate.ts';
import { migrateMainId } from '../contracts/ids.ts';
import type { Step } from '../contracts/status.ts';
import type { SetLook } from '../domain/hibernate/set-look.ts';
import type { SetStep } from '../domain/hibernate/set-turn.ts';
import { Publisher } from '../shared/attributes.ts';
import { defined } from '../shared/defined.ts';
import { now } from '../shared/now.ts';
import { code, pane, plain } from '../domain/markdown.ts';
import { fromTerminal } from '../shared/pane-parts.ts';

/** Where a set stands, for the query, the lists and the Web UI. */
export class SetState {
  readonly #set: SetName;
  readonly #publisher = new Publisher();
  #since = now();
  #step: SetStep | undefined;
  #seen: Seen<SetLook> | undefined;
  #refusal: string | undefined;

  constructor(set: SetName) {
    this.#set = set;
  }

  show(step: SetStep, seen: Seen<SetLook>): void {
    if (wordOf(step) !== wordOf(this.#step)) this.#since = seen.at;
    this.#step = step;
    this.#seen = seen;
    this.#refusal = undefined;
    this.#publish();
  }

  refused(message = 'refused'): void {
    this.#refusal = message;
    this.#publish();
  }

  status(): CocoonSetStatus {
    const { namespace, name } = this.#set;
    const { look } = this.#seen ?? {};
    const step = this.#step;
    const isDone = step?.isSettled === true || step?.isOver === true;
    const word = wordOf(step);
    return {
      kind: 'cocoon-set',
      id: workflowInfo().workflowId,
      status: word,
      reason: step?.reason ?? step?.action?.do ?? word,
      message: this.#refusal ?? messageOf(step),
      since: this.#since,
      ...(isDone ? {} : { waitingFor: 'far-side' }),
      steps: stepsOf(step),
      next: [`vmflow set get ${name} -n ${namespace}`],
      set: { namespace, name, ...defined('uid', look?.set?.uid) },
      ...defined('phase', step?.phase ?? look?.set?.phase),
      ...defined('rule', step?.rule),
      ...(look?.isMigrationOpen === true ? { migration: migrateMainId(namespace, name) } : {}),
    };
  }

  #publish(): void {
    const { status, message, reason, waitingFor, next, migration } = this.status();
    this.#publisher.publish({ status, waitingFor: waitingFor ?? null });
    const { namespace, name } = this.#set;
    setCurrentDetails(
      pane([
        `**${plain(`${namespace}/${name}`)}**: ${status}`,
        plain(`${reason}: ${message}`),
        migration === undefined ? '' : `moved by ${code(migration)}`,
        ...fromTerminal(next),
      ]),
    );
  }
}

function wordOf(step: SetStep | undefined): string {
  if (step === undefined) return 'Observing';
  if (step.isOver === true) return 'Deleted';
  return step.phase ?? (step.reason === 'Migrating' ? 'Migrating' : 'Working');
}

function messageOf(step: SetStep | undefined): string {
  if (step === undefined) return 'looking at the set';
  if (step.isOver === true) return 'the set is gone';
  if (step.isSettled === true) return 'nothing to do';
  if (step.action !== undefined) return words[step.action.do];
  return step.reason === undefined ? 'waiting for the VMs' : `waiting: ${step.reason}`;
}

const words: Readonly<Record<NonNullable<SetStep['action']>['do'], string>> = {
  addFinalizer: 'taking the set under care',
  noteVmNames: 'noting what is to be collected',
  collectAndRelease: 'dropping its snapshots and letting the set go',
  stampPods: 'telling the agents of the newest version of the set',
  noteSuspending: 'beginning to suspend',
  forgetSuspending: 'suspended no longer',
  setHibernate: 'asking the agents to store the VMs',
  clearHibernate: 'asking the agents to wake the VMs',
  deletePods: 'deleting Pods',
  noteOwedDrops: 'noting which snapshots are left over',
  startMigration: 'moving the main VM',
  createMain: 'creating the main Pod',
  dropTag: 'dropping a snapshot that is left over',
  createAgents: 'creating sub-agents',
};

function stepsOf(step: SetStep | undefined): Step[] {
  const isDone = step?.isSettled === true || step?.isOver === true;
  return [{ id: 'settle', title: 'bring the set to what its spec says', state: isDone ? 'done' : 'active' }];
}
