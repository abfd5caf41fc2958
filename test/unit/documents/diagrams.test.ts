import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { vmopPhases } from '../../../workflows/contracts/vmop.ts';
import { actionRefusal, type BatchAction } from '../../../workflows/domain/batch/batch-actions.ts';
import { enter, ForbiddenTransition, type Entry } from '../../../workflows/domain/batch/entry.ts';
import type { BatchStatus, EntryStatus } from '../../../workflows/domain/batch/records.ts';
import { hibernationPhases } from '../../../workflows/domain/hibernate/hibernation.ts';
import { shownSteps } from '../../../workflows/domain/hibernate/steps.ts';
import { phases } from '../../../workflows/domain/template/phases.ts';
import { codeBlocks, pageAt, root } from './markdown.ts';
import { stateDiagrams, type Diagram } from './mermaid.ts';

const diagramsOf = (operation: string): Diagram[] => stateDiagrams(pageAt(`workflows/${operation}/README.md`).text);
const sorted = (names: Iterable<string>): string[] => [...names].sort();

const rows: readonly [what: string, operation: string, diagram: number, states: readonly string[]][] = [
  ['a template swap', 'template', 0, Object.keys(phases)],
  ['a VM operation', 'vmop', 0, vmopPhases],
  ['a move', 'hibernate', 0, Object.keys(shownSteps)],
  ['a hibernation', 'hibernate', 1, hibernationPhases],
];
for (const [what, operation, diagram, states] of rows) {
  test(`the diagram of ${what} has the states that the code has, and no other`, () => {
    assert.deepEqual(sorted(diagramsOf(operation)[diagram]?.states ?? []), sorted(states));
  });
}

test('labels have nothing in them that ends a label', () => {
  const text = ['template', 'vmop', 'hibernate', 'batch'].flatMap((name) =>
    codeBlocks(pageAt(`workflows/${name}/README.md`).text, 'mermaid'),
  );
  const labels = [...text.join('\n').matchAll(/ --> \S+?: (.*)$/gm)].map(([, label = '']) => label);
  assert.ok(labels.length >= 30);
  assert.deepEqual(
    labels.filter((label) => /[;:]/.test(label)),
    [],
  );
});

/** The list is the type's: one that is missing or too much doesn't compile. */
const entryStatuses = Object.keys({
  Blocked: 0,
  Waiting: 0,
  'Creating new VM': 0,
  'Performing background import tasks': 0,
  Idle: 0,
  'Performing final import tasks': 0,
  'Performing post-import tasks': 0,
  'Worker tasks complete': 0,
  Finished: 0,
  Error: 0,
  Canceled: 0,
  Conflict: 0,
} satisfies Record<EntryStatus, 0>) as EntryStatus[];

function isAllowed(from: EntryStatus, to: EntryStatus): boolean {
  try {
    enter({ status: from, timeline: [] as Entry['timeline'] } as Entry, to, '2030-01-01T00:00:00Z', '');
    return true;
  } catch (error) {
    if (error instanceof ForbiddenTransition) return false;
    throw error;
  }
}

test('the diagrams of a VM of a batch have its states and transitions, and no other', () => {
  const [way, between] = diagramsOf('batch');
  assert.deepEqual(sorted(new Set([...(way?.states ?? []), ...(between?.states ?? [])])), sorted(entryStatuses));
  const allowed = entryStatuses.flatMap((from) =>
    entryStatuses.filter((to) => to !== from && isAllowed(from, to)).map((to) => `${from} → ${to}`),
  );
  const shown = [...(way?.transitions ?? []), ...(between?.transitions ?? [])];
  assert.deepEqual(sorted(shown), sorted(allowed));
});

test('the diagram of a batch has the statuses that it enters, and actions where they are taken', () => {
  const text = pageAt('workflows/batch/README.md').text;
  const source = readFileSync(join(root, 'workflows/batch/batch.ts'), 'utf8');
  const entered = [...source.matchAll(/become\('(\w+)'/g)].map(([, status = '']) => status);
  assert.deepEqual(sorted(diagramsOf('batch')[2]?.states ?? []), sorted(new Set(entered)));
  const actions = [...text.matchAll(/^ *(\w+) --> \S+: (start|stop|resume|reset|delete)$/gm)];
  assert.ok(actions.length >= 8);
  for (const [, status, action] of actions) {
    const situation = { status: status as BatchStatus, isCommitted: false, force: false };
    assert.equal(actionRefusal(action as BatchAction, situation), undefined, `${action ?? ''} of ${status ?? ''}`);
  }
});
