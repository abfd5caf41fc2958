import { defineQuery, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import type { HibernateWaits, MigrationActivities } from '../contracts/activities.ts';
import type { RequestMigrationInput, RequestMigrationResult } from '../contracts/hibernate.ts';
import { migrateMainId } from '../contracts/ids.ts';
import { messages } from '../contracts/messages.ts';
import type { OperationStatus } from '../contracts/status.ts';
import { Publisher } from '../shared/attributes.ts';
import { defined } from '../shared/defined.ts';
import { knownFailure } from '../shared/failures.ts';
import { control, waiting } from '../shared/proxies.ts';
import { now } from '../shared/now.ts';
import { budgets } from './budgets.ts';

/**
 * What somebody asks of a set: writes the wanted node into its spec, as `kubectl patch` would, and waits for what becomes of it.
 * The migration itself is the set's.
 */
export async function requestMigration(request: RequestMigrationInput): Promise<RequestMigrationResult> {
  const since = now();
  const publisher = new Publisher();
  let word = 'Checking';
  let message = 'checking what is asked';
  const status = (): OperationStatus => ({
    kind: 'migration-request',
    id: workflowInfo().workflowId,
    status: word,
    reason: word,
    message,
    since,
    ...(word === 'Waiting' ? { waitingFor: 'far-side' } : {}),
    steps: [],
    next: [`vmflow set get ${request.name} -n ${request.namespace}`],
  });
  setHandler(defineQuery<OperationStatus>(messages.status), status, { description: 'What became of the request' });
  const show = (next: string, says: string): void => {
    word = next;
    message = says;
    publisher.publish({ status: word, waitingFor: word === 'Waiting' ? 'far-side' : null });
    setCurrentDetails([`**${word}**`, '', message, ...status().next.map((command) => `- \`${command}\``)].join('\n'));
  };
  const ended = (result: RequestMigrationResult): RequestMigrationResult => {
    show(result.outcome, result.message);
    return result;
  };
  try {
    const { seen, target, obstacle, isThere } = await control<MigrationActivities>(
      budgets.person,
      `check the move of ${request.namespace}/${request.name}`,
    ).planMigration(request);
    const { set, pod } = seen.look;
    const from = pod?.nodeName;
    if (isThere)
      return ended({
        outcome: 'already-there',
        to: target,
        message: `the main VM runs on ${target} already`,
        ...defined('from', from),
      });
    const waits = obstacle === undefined ? '' : `; it begins when this has gone: ${obstacle}`;
    if (request.dryRun === true)
      return ended({
        outcome: 'would-migrate',
        to: target,
        message: `would move the main VM from ${from ?? 'nowhere'} to ${target}${waits}`,
        ...defined('from', from),
      });
    const scope = { namespace: request.namespace, name: request.name, ...defined('setUid', set?.uid) };
    const { outcome, message: why = '' } = await control<MigrationActivities>(
      budgets.person,
      `${request.by ?? 'somebody'}: the VM is wanted on ${target}`,
    ).setTarget({ scope, nodeName: target, ...defined('expected', set?.nodeName) });
    if (outcome !== 'done')
      return ended({ outcome: 'refused', to: target, message: `the set couldn't be changed (${outcome}): ${why}` });
    show('Waiting', `the main VM moves to ${target}; see ${migrateMainId(request.namespace, request.name)}${waits}`);
    const result = await waiting<HibernateWaits>(budgets.wait, `wait until the VM runs on ${target}`).awaitMigrated({
      ...scope,
      target,
      since,
    });
    return ended({ ...defined('from', from), ...result });
  } catch (err) {
    const { type, message: why } = knownFailure(err);
    if (type !== 'Refused') throw err;
    return ended({ outcome: 'refused', message: why });
  }
}
