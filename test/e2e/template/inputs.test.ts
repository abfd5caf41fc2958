import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ApplicationFailure, WorkflowFailedError, WorkflowUpdateFailedError } from '@temporalio/client';
import { templateSwapId } from '../../../workflows/contracts/ids.ts';
import { messages } from '../../../workflows/contracts/messages.ts';
import { Rig } from '../../support/rig.ts';

let rig: Rig;
before(async () => {
  rig = await Rig.start();
});
after(() => rig.stop());

let started = 0;

/** How a workflow that anybody could start ends. */
async function failureOf(type: string, args: readonly unknown[], workflowId?: string): Promise<ApplicationFailure> {
  const id = workflowId ?? `garbage/${rig.taskQueue}/${++started}`;
  const options = {
    taskQueue: rig.taskQueue,
    workflowId: id,
    args: [...args],
    workflowExecutionTimeout: '30s',
  } as const;
  const err = await rig.client.workflow.execute(type, options).then(
    (result) => assert.fail(`it succeeded: ${JSON.stringify(result)}`),
    (error: unknown) => error,
  );
  assert.ok(err instanceof WorkflowFailedError, String(err));
  assert.ok(err.cause instanceof ApplicationFailure, `${JSON.stringify(args)}: ${String(err.cause)}`);
  return err.cause;
}

const garbage = [[], [null], ['x'], [7], [[]], [{}]] as const;

for (const type of ['templateSwap', 'templateSwapFleet', 'lookup']) {
  test(`${type} with an input that is none fails at once, as an invalid request`, async () => {
    const request = (await rig.scenario()).request();
    const broken: readonly (readonly unknown[])[] = [
      ...garbage,
      [{ ...request, placement: null }],
      [{ ...request, template: { prodName: 5 } }],
      [{ ...request, source: 'x' }],
      [{ templates: [null] }],
      [{ templates: 5 }],
      [{ what: 'ova' }],
      [{ what: 'template', vcenter: 'main', name: 'x', placement: 1 }],
    ];
    const failures = await Promise.all(broken.map((args) => failureOf(type, args)));
    assert.deepEqual([...new Set(failures.map((failure) => failure.type))], ['InvalidRequest']);
    assert.ok(failures.every(({ nonRetryable }) => nonRetryable === true));
  });
}

test('a swap under another workflow id than the lock of its template fails before it touches vCenter', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const request = scenario.request();
  const failure = await failureOf('templateSwap', [request], `mine/${rig.taskQueue}`);

  assert.equal(failure.type, 'InvalidRequest');
  assert.ok(failure.message.includes(templateSwapId(request)), failure.message);
  assert.deepEqual(rig.proxy.requests(), []);
});

test('template/35 a new target that is none is refused, and nothing of the swap is disturbed', async () => {
  const scenario = await rig.scenario();
  await scenario.template(scenario.names.prod, '416.94.1');
  const ova = await scenario.ova();
  const swap = await scenario.start({ ova, options: { keepRollbackMinutes: 10 } });
  await swap.reaches('Keeping');
  const good = {
    source: { kind: 'file', path: '/x.ova', sha256: 'a'.repeat(64) },
    target: { version: '418.0.0' },
    by: 'a test',
  };
  const bad: readonly unknown[] = [
    null,
    'x',
    {},
    { ...good, target: { version: '' } },
    { ...good, target: { version: ' ' } },
    { ...good, target: { version: 'v'.repeat(129) } },
    { ...good, by: { name: 'x' } },
    { ...good, by: '' },
    { ...good, source: { ...good.source, kind: 'weird' } },
    { ...good, source: { ...good.source, kind: 'constructor' } },
    { ...good, source: { ...good.source, path: 'relative.ova' } },
    { ...good, source: { ...good.source, sha256: 'short' } },
    { ...good, source: { kind: 'http', url: 'https://user:secret@host/x.ova', sha256: 'a'.repeat(64) } },
    { ...good, source: { kind: 'http', url: 'https://host/x.ova?signature=secret', sha256: 'a'.repeat(64) } },
    { ...good, source: { ...good.source, size: -1 } },
  ];
  for (const body of bad) {
    const err = await swap.update(messages.retarget, body).catch((error: unknown) => error);
    assert.ok(err instanceof WorkflowUpdateFailedError, `accepted: ${JSON.stringify(body)}`);
    assert.ok(err.cause instanceof ApplicationFailure && err.cause.type === 'Refused', JSON.stringify(body));
  }
  for (const name of [messages.undo, messages.endKeep, messages.retryNow, messages.ensure]) {
    const err = await swap.update(name, null).catch((error: unknown) => error);
    assert.ok(err instanceof WorkflowUpdateFailedError, name);
    assert.ok(err.cause instanceof ApplicationFailure && err.cause.type === 'Refused', name);
  }
  // What only the schema finds leaves the target as it was.
  await swap.update(messages.retarget, { ...good, source: { ...good.source, unknown: 1 } });
  const result = await swap.result();
  assert.equal(result.prod?.version, '417.94.2');
  assert.ok(result.warnings.some((warning) => warning.includes('418.0.0') && warning.includes('not taken')));
});
