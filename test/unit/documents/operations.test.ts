import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { configSchema } from '../../../activities/schemas/config.ts';
import { searchKeys } from '../../../workflows/contracts/attributes.ts';
import { mostHolders } from '../../../workflows/domain/batch/commits.ts';
import { mostOrdered } from '../../../workflows/domain/batch/order.ts';
import { rollbackReserveMs } from '../../../workflows/domain/batch/windows.ts';
import { maxNameLength } from '../../../workflows/domain/template/names.ts';
import { phases } from '../../../workflows/domain/template/phases.ts';
import { capacityRetryMs, maxRounds, refusedRenames } from '../../../workflows/template/budgets.ts';
import { coordinatorIdle, remembered } from '../../../workflows/vmop/budgets.ts';
import { pageAt, pages, root, tableRows } from './markdown.ts';

const operations = ['template', 'vmop', 'hibernate', 'batch'];
const textOf = (operation: string): string => pageAt(`workflows/${operation}/README.md`).text;

test('every search attribute that a page names is registered', () => {
  const known = Object.values(searchKeys).map(({ name }) => name as string);
  const named = pages.flatMap(({ text }) => text.match(/\bOp[A-Z]\w+/g) ?? []);
  assert.ok(named.length >= 30);
  assert.deepEqual(
    named.filter((name) => !known.includes(name)),
    [],
  );
});

test('every kind of workflow is on the page of its operation, and no other', () => {
  const source = readFileSync(join(root, 'workflows/contracts/attributes.ts'), 'utf8');
  const [, list = ''] = /type OperationKind =([^;]*);/.exec(source) ?? [];
  const kinds = [...list.matchAll(/'([\w-]+)'/g)].map(([, kind = '']) => kind);
  const isNoOperation = (kind: string): boolean => kind === 'lookup' || kind === 'vmop-upkeep';
  const byAttribute = tableRows(textOf('template'), 'search attribute').filter(([name]) => name === '`OpKind`');
  const byId = operations.flatMap((operation) => tableRows(textOf(operation), 'workflow id'));
  const told = [...byAttribute, ...byId].flatMap(([, cell = '']) => cell.match(/[\w-]+/g) ?? []);
  assert.deepEqual(told.sort(), kinds.filter((kind) => !isNoOperation(kind)).sort());
});

test('every state of a swap that waits says for what, and who ends it', () => {
  const told = tableRows(textOf('template'), 'state').flatMap(([state = '']) => state.match(/\w+/g) ?? []);
  const waiting = Object.entries(phases).flatMap(([phase, facts]) => ('waitingFor' in facts ? [phase] : []));
  assert.ok(waiting.length >= 2);
  assert.deepEqual(
    waiting.filter((phase) => !told.includes(phase)),
    [],
  );
});

const { operations: vmops, migrations, batches, limits } = configSchema.parse({});
const number = (value: number): string => value.toLocaleString('en-US');
const minutes = (ms: number): number => ms / 60_000;

/** Where the number stands: operation, first cell of the row, how it begins there. */
const numbers: readonly [string, RegExp, string][] = [
  ['template', /^uploads at once/, `${limits.uploads} (`],
  ['template', /^length of a template/, `${maxNameLength} characters`],
  ['template', /^rounds/, `${maxRounds},`],
  ['template', /^`WaitingForSpace`/, `every ${minutes(capacityRetryMs)} minutes`],
  ['template', /^`Swapping`$/, `${refusedRenames.tries} times`],
  ['vmop', /^repeats/, `last ${remembered} `],
  ['vmop', /^finished operations kept/, `${vmops.keepHours} h, ${vmops.keepPerVm} per VM`],
  ['vmop', /^take over$/, `(${minutes(vmops.migrationAbortTimeoutMs)} min)`],
  ['vmop', /^migratable/, `(${minutes(vmops.readyToMigrateMs)} min)`],
  ['vmop', /^`vm\//, `closes ${coordinatorIdle.replace('m', ' min')}`],
  [
    'hibernate',
    /^VMs on their way/,
    `${migrations.limits.overall}, of these ${migrations.limits.perSource} from and ${migrations.limits.perTarget} to`,
  ],
  ['hibernate', /^storing a VM/, `${minutes(migrations.quiesceHardMs)} min; ${minutes(migrations.restoreHardMs)} min`],
  ['hibernate', /^`CleaningUp`/, `(${minutes(migrations.cleanupHardMs)} min)`],
  ['hibernate', /^a lost workflow/, `${minutes(migrations.resyncMs)} min (`],
  ['batch', /^VMs of a batch in their downtime/, `${number(mostHolders)},`],
  ['batch', /^VMs of a batch with an order/, `${mostOrdered} (`],
  ['batch', /^end of a window/, `${minutes(rollbackReserveMs)} min`],
  ['batch', /^copies at once/, `${batches.diskCopies} disks`],
  ['batch', /^kept of what has finished/, `${batches.archiveAfterMs / 86_400_000} days`],
  ['batch', /^`Performing final import tasks`$/, `(${minutes(batches.shutdownGraceMs)} min)`],
];
for (const [operation, row, expected] of numbers) {
  test(`the page of ${operation} has the number that the code has: ${expected}`, () => {
    const rows = ['what', 'state', 'step', 'workflow id'].flatMap((header) => tableRows(textOf(operation), header));
    const found = rows.filter(([first = '']) => row.test(first)).map((cells) => cells.slice(1).join(' '));
    assert.ok(
      found.some((text) => text.includes(expected)),
      JSON.stringify(found),
    );
  });
}
