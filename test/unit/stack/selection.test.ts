import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { coverage, scenarioReport, type ScenarioSet } from '../../support/scenarios.ts';
import { parseArguments, selectFiles, titlePattern } from '../../support/selection.ts';

describe('arguments of npm test', () => {
  test('are told apart: paths, titles, options', () => {
    assert.deepEqual(parseArguments(['template/13', 'test/unit', 'x.test.ts', '--cache-0']), {
      listScenarios: false,
      cacheZero: true,
      record: false,
      paths: ['test/unit', 'x.test.ts'],
      titles: ['template/13'],
    });
  });

  test('an unknown option is refused', () => {
    assert.throws(() => parseArguments(['--watch']), /Unknown option --watch/);
  });

  for (const [title, selected] of [
    ['template/1 happy path', true],
    ['a suite template/1 happy path', true],
    ['template/4, template/1 both', true],
    ['template/13 worker killed', false],
    ['template/1-extra', false],
    ['mytemplate/1 other', false],
  ] as const) {
    test(`template/1 ${selected ? 'selects' : 'leaves out'} "${title}"`, () => {
      assert.equal(titlePattern('template/1').test(title), selected);
    });
  }

  const sources = [
    { file: 'test/unit/a.test.ts', text: "test('template/1 x')" },
    { file: 'test/e2e/b.test.ts', text: "test('template/2 y')" },
  ];
  for (const [what, selection, files] of [
    ['nothing asked for is everything', { paths: [], titles: [] }, ['test/unit/a.test.ts', 'test/e2e/b.test.ts']],
    ['a folder', { paths: ['./test/e2e'], titles: [] }, ['test/e2e/b.test.ts']],
    ['a title', { paths: [], titles: ['template/2'] }, ['test/e2e/b.test.ts']],
    [
      'a title that no file spells out may still be a computed one',
      { paths: [], titles: ['x/9'] },
      sources.map(({ file }) => file),
    ],
    ['a path that is not there', { paths: ['test/nope'], titles: [] }, []],
  ] as const) {
    test(`files: ${what}`, () => assert.deepEqual(selectFiles(selection, sources), files));
  }
});

describe('scenario coverage', () => {
  const sets: ScenarioSet[] = [
    { prefix: 'one', title: 'First', ids: ['1', '2', '3', '4', '5'] },
    { prefix: 'two', title: 'Second', ids: ['A-1'] },
  ];
  const text = `
    test('one/1 does it');
    test("one/2, two/A-1 do both");
    it.skip('one/3 not yet');
    // one/4 is only mentioned
    const log = 'see one/5';
  `;

  test('counts ids that a title starts with, and no mention, skipped or to-do test', () => {
    const found = [...coverage(sets, [{ file: 'f', text }])].filter(([, files]) => files.length > 0).map(([id]) => id);
    assert.deepEqual(found, ['one/1', 'one/2', 'two/A-1']);
  });

  test('is printed per set', () => {
    assert.match(scenarioReport(sets, [{ file: 'f', text }]), /^First: 2 of 5 covered\n {2}one\/1 +covered +f\n/);
  });
});
