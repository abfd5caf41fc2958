import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration, parseDuration } from '../../../client/durations.ts';
import { hyperlink, knowsHyperlinks, workflowLink } from '../../../client/links.ts';
import { wantsColor } from '../../../client/output/colors.ts';
import { LiveBlock } from '../../../client/output/live.ts';
import { displayWidth, renderTable, type Column } from '../../../client/output/table.ts';
import { formatBytes, formatTime } from '../../../client/output/units.ts';

const columns: readonly Column<[string, string]>[] = [
  { header: 'NAME', cell: ([name]) => name },
  { header: 'DETAIL', cell: ([, detail]) => detail, cut: true },
];

test('a table has no borders, two blanks between columns and none at the end of a line', () => {
  const text = renderTable(
    [
      ['a', 'x'],
      ['long-name', ''],
    ],
    columns,
    { headers: true },
  );
  assert.equal(text, 'NAME       DETAIL\na          x\nlong-name  -\n');
});

test('a table without headers has rows only, and a cell never breaks its row', () => {
  assert.equal(renderTable([['a', 'x\n  y']], columns, { headers: false }), 'a  x y\n');
});

test('a narrow terminal shortens what may be cut and never a name', () => {
  const text = renderTable([['a-very-long-name', 'a detail of many words']], columns, { headers: false, width: 28 });
  assert.equal(text, 'a-very-long-name  a detail …\n');
});

test('wide characters take two columns, colour codes and accents none', () => {
  assert.equal(displayWidth('\u001b[31m模板e\u0301\u001b[39m'), 5);
});

const durations: readonly [string, number, string][] = [
  ['90s', 90_000, '1 min 30 s'],
  ['10m', 600_000, '10 min'],
  ['2h', 7_200_000, '2 h'],
  ['1h30m', 5_400_000, '1 h 30 min'],
  ['7d', 604_800_000, '7 d'],
  ['1.5h', 5_400_000, '1 h 30 min'],
  ['400ms', 400, '0 s'],
];
for (const [text, ms, shown] of durations) {
  test(`the duration ${text} is ${ms} ms and is shown as ${shown}`, () => {
    assert.equal(parseDuration(text, '--keep'), ms);
    assert.equal(formatDuration(ms), shown);
  });
}

for (const text of ['10', '', '10 m', 'm10', '1x', '-5m', '5m!']) {
  test(`"${text}" is refused as a duration`, () => {
    assert.throws(() => parseDuration(text, '--keep'), /--keep: .* is no duration/);
  });
}

const sizes: readonly [number, string][] = [
  [0, '0 B'],
  [1023, '1023 B'],
  [1536, '1.5 KiB'],
  [300 * 1024 ** 2, '300 MiB'],
  [1.4 * 1024 ** 3, '1.4 GiB'],
];
for (const [bytes, shown] of sizes) test(`${bytes} bytes are ${shown}`, () => assert.equal(formatBytes(bytes), shown));

test('times are ages, times to come, or ISO', () => {
  const at = new Date('2026-03-01T13:20:00Z');
  assert.equal(formatTime('2026-03-01T13:02:00Z', 'relative', at), '18 min ago');
  assert.equal(formatTime('2026-03-01T15:20:00Z', 'relative', at), 'in 2 h');
  assert.equal(formatTime('2026-03-01T13:02:00Z', 'iso', at), '2026-03-01T13:02:00Z');
});

test('a link encodes the id as one segment, also the escapes within it', () => {
  const link = workflowLink('https://ui/', 'my ns', 'template-swap/vc1/DC0/vm/a%2fb', 'r/1');
  assert.equal(link, 'https://ui/namespaces/my%20ns/workflows/template-swap%2Fvc1%2FDC0%2Fvm%2Fa%252fb/r%2F1/history');
});

test('hyperlinks are for terminals that know them; the URL stays readable', () => {
  assert.equal(knowsHyperlinks({ TERM: 'xterm', VTE_VERSION: '7200' }), true);
  assert.equal(knowsHyperlinks({ TERM: 'xterm' }), false);
  assert.equal(knowsHyperlinks({ TERM: 'xterm', VTE_VERSION: '7200', CI: 'true' }), false);
  assert.match(hyperlink('https://x'), /https:\/\/x.*https:\/\/x/);
});

const colorRows: readonly [string, Parameters<typeof wantsColor>, boolean][] = [
  ['a terminal', ['auto', {}, true], true],
  ['no terminal', ['auto', {}, false], false],
  ['NO_COLOR on a terminal', ['auto', { NO_COLOR: '1' }, true], false],
  ['FORCE_COLOR without one', ['auto', { FORCE_COLOR: '1' }, false], true],
  ['--color always with NO_COLOR', ['always', { NO_COLOR: '1' }, false], true],
  ['--color never with FORCE_COLOR', ['never', { FORCE_COLOR: '1' }, true], false],
  ['a dumb terminal', ['auto', { TERM: 'dumb' }, true], false],
];
for (const [what, args, wanted] of colorRows) {
  test(`colour: ${what} gives ${wanted ? 'colour' : 'none'}`, () => assert.equal(wantsColor(...args), wanted));
}

test('a live block is drawn over itself, also where lines wrap and where a terminal says it is 0 wide', () => {
  for (const [columnsOfTerminal, rows] of [
    [10, 3],
    [0, 2],
  ] as const) {
    let text = '';
    const block = new LiveBlock({ isTTY: true, columns: columnsOfTerminal, write: (part) => (text += part) });
    block.draw('0123456789abc\nx\n');
    text = '';
    block.draw('y\n');
    assert.equal(text, `\u001b[${rows}A\r\u001b[Jy\n`);
  }
});
