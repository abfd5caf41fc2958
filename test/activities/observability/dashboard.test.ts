import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stringify } from 'yaml';
import { promtool } from '../../stack/promtool.ts';
import { dashboard, exprsOf, type Dashboard } from './files.ts';

let board: Dashboard;
let dir = '';
before(async () => {
  board = await dashboard();
  dir = await mkdtemp(join(tmpdir(), 'vmflow-dashboard-'));
});
after(() => rm(dir, { recursive: true, force: true }));

test('the dashboard asks the data source that a person chooses, and is of a schema that Grafana 10 and later read', () => {
  assert.ok(board.schemaVersion >= 36);
  assert.deepEqual(
    board.templating.list.map(({ name, type }) => [name, type]),
    [['datasource', 'datasource']],
  );
  for (const { type, title, datasource, targets } of board.panels) {
    if (type === 'row') continue;
    assert.equal(datasource?.uid, '${datasource}', title);
    assert.ok(targets !== undefined && targets.length > 0, title);
    assert.ok(
      targets.every((target) => target.datasource.uid === '${datasource}'),
      title,
    );
  }
});

test('its panels have ids of their own and do not lie over each other', () => {
  assert.equal(new Set(board.panels.map(({ id }) => id)).size, board.panels.length);
  for (const one of board.panels) {
    assert.ok(one.gridPos.x + one.gridPos.w <= 24, one.title);
    for (const other of board.panels) {
      const [a, b] = [one.gridPos, other.gridPos];
      const isApart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
      assert.ok(one.id === other.id || isApart, `${one.title} and ${other.title}`);
    }
  }
});

test('each kind of operation has its row', () => {
  const rows = board.panels.filter(({ type }) => type === 'row').map(({ title }) => title);
  assert.deepEqual(rows, ['Overview', 'Templates', 'Operations on VMs', 'Sets', 'Batches', 'Workers', 'Bridge']);
});

test('Prometheus reads every expression', async () => {
  const rules = exprsOf(board).map((expr, index) => ({
    record: `panel:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m'),
  }));
  assert.ok(rules.length > 20);
  const file = join(dir, 'rules.yaml');
  await writeFile(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
  const { isGood, text } = await promtool('check', 'rules', file);
  assert.ok(isGood, text);
});
