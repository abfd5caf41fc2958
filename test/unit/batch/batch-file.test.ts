import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { batchSpecSchema, problemsOfSpec } from '../../../activities/schemas/batch.ts';
import { parseBatchFile, type BatchFile, type FileProblem } from '../../../activities/schemas/batch-file.ts';
import { parsePath, pathText } from '../../../activities/schemas/spec-path.ts';
import { checkSpec } from '../../../activities/schemas/spec-problems.ts';
import type { BatchSpec } from '../../../workflows/domain/batch/records.ts';

const now = new Date('2026-03-01T12:00:00Z');

function good(text: string, previous?: BatchSpec): BatchFile {
  const result = parseBatchFile(text, now, previous);
  return 'problems' in result ? assert.fail(JSON.stringify(result.problems)) : result;
}

function bad(text: string, previous?: BatchSpec): readonly FileProblem[] {
  const result = parseBatchFile(text, now, previous);
  return 'problems' in result ? result.problems : assert.fail('it was accepted');
}

/** `line:column path message` */
function lines(problems: readonly FileProblem[]): string[] {
  return problems.map(({ line, column, path, message }) => `${line}:${column} ${path} ${message}`);
}

const whole = `
apiVersion: vmflow.dev/v1
kind: Batch
name: night-1
include_expression: source == 'vc1' and cpus <= 4
migration_windows:
  - name: sat
    start: 2026-03-28 22:00 Europe/Berlin
    end: 2026-03-29T03:30:00+02:00
    lockout: 2026-03-28 23:30 Europe/Berlin
    config: { capacity: 2 }
  - name: sun
    start: 2026-03-29 22:00 Europe/Berlin
constraints:
  - name: web
    include_expression: name matches '^web'
    max_concurrent_instances: 1
    min_instance_boot_time: 1h30m
defaults:
  placement: { target: tgt, target_project: p1, storage_pool: fast }
  migration_network:
    - { target: tgt, network: br0, nictype: bridged, vlan_id: 10 }
  force_conflict_resolution: true
placement_rules:
  - when: name == 'web-1'
    set: { project: p2, pool: { by_disk: [{ when_disk: 'capacity > 1', pool: slow }] } }
config:
  background_sync_interval: 30m
  final_background_sync_limit: 90s
  instance_restriction_overrides: { allow_no_ipv4: true }
overrides:
  5298cc11-96ea-4f50-b018-6d80bfdaa7d9: { name: web-9, cpus: 8, distribution: ubuntu, distribution_version: '22.04' }
network_overrides:
  /DC0/network/VM Network: { network: br1 }
`;

describe('a batch file', () => {
  test('becomes a batch with times in UTC, spans in milliseconds and its defaults', () => {
    const { spec, written, namesTarget } = good(whole);
    assert.deepEqual(spec, {
      name: 'night-1',
      include_expression: "source == 'vc1' and cpus <= 4",
      migration_windows: [
        {
          name: 'sat',
          start: '2026-03-28T21:00:00.000Z',
          end: '2026-03-29T01:30:00.000Z',
          lockout: '2026-03-28T22:30:00.000Z',
          capacity: 2,
        },
        { name: 'sun', start: '2026-03-29T20:00:00.000Z', capacity: 0 },
      ],
      constraints: [
        {
          name: 'web',
          description: '',
          include_expression: "name matches '^web'",
          max_concurrent_instances: 1,
          min_instance_boot_time: 5_400_000,
        },
      ],
      defaults: {
        placement: { target: 'tgt', target_project: 'p1', storage_pool: 'fast' },
        migration_network: [
          { target: 'tgt', target_project: 'default', network: 'br0', nictype: 'bridged', vlan_id: '10' },
        ],
        force_conflict_resolution: true,
      },
      placement_rules: [
        {
          when: "name == 'web-1'",
          set: { project: 'p2', pool: { by_disk: [{ when_disk: 'capacity > 1', pool: 'slow' }] } },
        },
      ],
      config: {
        rerun_scriptlets: false,
        placement_scriptlet: '',
        post_migration_retries: 5,
        instance_restriction_overrides: {
          allow_unknown_os: false,
          allow_no_ipv4: true,
          allow_no_background_import: false,
        },
        background_sync_interval: 1_800_000,
        final_background_sync_limit: 90_000,
        sync_limit: 0,
        window_end_in_conflict: 'rollback',
        create_retries: 10,
        stale_source: 'recopy',
        without_change_tracking: 'once',
        no_guest_tools: 'ask',
      },
      overrides: {
        '5298cc11-96ea-4f50-b018-6d80bfdaa7d9': {
          name: 'web-9',
          cpus: 8,
          distribution: 'ubuntu',
          distribution_version: '22.04',
        },
      },
      network_overrides: { '/DC0/network/VM Network': { network: 'br1' } },
    });
    assert.equal(written['sat']?.start?.zone, 'Europe/Berlin');
    assert.equal(written['sat'].end?.zone, 'UTC+2');
    assert.deepEqual(Object.keys(written['sun'] ?? {}), ['start']);
    assert.equal(namesTarget, true);
    assert.ok('spec' in checkSpec(spec, batchSpecSchema, now.getTime()), 'a workflow takes what a file gives');
  });

  test('needs a name only: it then selects nothing', () => {
    const { spec, namesTarget } = good('name: empty\n');
    assert.equal(spec.include_expression, 'false');
    assert.deepEqual(spec.defaults.placement, {
      target: 'default',
      target_project: 'default',
      storage_pool: 'default',
    });
    assert.equal(spec.config.background_sync_interval, 600_000);
    assert.equal(namesTarget, false);
  });

  test('read twice is the same batch', () => assert.deepEqual(good(whole).spec, good(whole).spec));

  test('may have what the defaults are made of in JSON', () => {
    assert.deepEqual(good(JSON.stringify({ name: 'x' })).spec, good('name: x').spec);
  });
});

/** Each with the lines that it gets. */
const wrong: readonly (readonly [string, string, readonly string[]])[] = [
  ['no mapping', '- a\n', ['1:1  one mapping is expected, for example "name: night-1"']],
  ['nothing in it', '', ['1:1  one mapping is expected, for example "name: night-1"']],
  ['no name', 'include_expression: "true"\n', ['1:1 name is missing']],
  ['an unknown field', 'name: a\nwindows: []\n', ['2:1 windows is no field that is known here']],
  [
    'an unknown field deep down',
    'name: a\nconfig:\n  create_retries: 1\n  retries: 5\n',
    ['4:3 config.retries is no field that is known here'],
  ],
  [
    'values of the wrong type',
    'name: a\nconfig:\n  create_retries: many\n  sync_limit: 1.5\nconstraints: web\n',
    [
      '3:19 config.create_retries must be a number',
      '4:15 config.sync_limit must be a whole number',
      '5:14 constraints must be a list',
    ],
  ],
  ['a negative number', 'name: a\nconfig: { create_retries: -1 }\n', ['2:27 config.create_retries must be at least 0']],
  [
    'an unknown word',
    'name: a\nconfig:\n  stale_source: ignore\n',
    ['3:17 config.stale_source must be recopy or accept'],
  ],
  [
    'a duration without its unit',
    'name: a\nconfig:\n  background_sync_interval: "10"\n',
    ['3:29 config.background_sync_interval "10" is no duration: write it with its unit: 90s, 10m, 1h30m'],
  ],
  [
    'an interval of nothing',
    'name: a\nconfig: { background_sync_interval: 0s }\n',
    ['2:37 config.background_sync_interval must be longer than 0s'],
  ],
  [
    'a final limit longer than the interval',
    'name: a\nconfig:\n  background_sync_interval: 5m\n',
    ['3:3 config.final_background_sync_limit must not be longer than background_sync_interval'],
  ],
  [
    'an empty expression',
    'name: a\ninclude_expression: ""\n',
    ['2:21 include_expression is empty: write true for all'],
  ],
  ['a field twice', 'name: a\nname: b\n', ['2:1  Map keys must be unique']],
  [
    'windows that overlap',
    `name: a
migration_windows:
  - name: one
    start: 2026-03-28 22:00 Europe/Berlin
    end: 2026-03-29 05:00 Europe/Berlin
  - name: two
    start: 2026-03-29 03:00 Europe/Berlin
    end: 2026-03-29 06:00 Europe/Berlin
`,
    [
      '6:5 migration_windows[1] windows one and two overlap: one ends at 2026-03-29T03:00:00.000Z and two starts at 2026-03-29T01:00:00.000Z; move one of them',
    ],
  ],
  [
    'a window that is over',
    'name: a\nmigration_windows:\n  - name: one\n    end: 2026-02-01 22:00 Europe/Berlin\n',
    [
      '4:10 migration_windows[0].end window one ended at 2026-02-01T21:00:00.000Z: choose a later end or leave the window out',
    ],
  ],
  [
    'a window at a time that the clocks skip',
    'name: a\nmigration_windows:\n  - name: one\n    start: 2026-03-29 02:30 Europe/Berlin\n',
    [
      '4:12 migration_windows[0].start "2026-03-29 02:30 Europe/Berlin": the clocks of Europe/Berlin are put forward over that time, it does not exist',
    ],
  ],
  [
    'a window without a zone',
    'name: a\nmigration_windows:\n  - { name: one, start: "2026-03-28 22:00" }\n',
    [
      '3:25 migration_windows[0].start "2026-03-28 22:00" is no time with a zone: write 2026-03-28T22:00:00+01:00, or 2026-03-28 22:00 Europe/Berlin',
    ],
  ],
  [
    'a window that ends before it begins',
    'name: a\nmigration_windows:\n  - name: one\n    start: 2026-03-28T22:00Z\n    end: 2026-03-28T21:00Z\n',
    [
      '5:10 migration_windows[0].end window one ends at 2026-03-28T21:00:00.000Z, before it starts at 2026-03-28T22:00:00.000Z: swap the two or choose a later end',
    ],
  ],
  [
    'a lockout without an end',
    'name: a\nmigration_windows:\n  - name: one\n    lockout: 2026-03-28T22:00Z\n',
    ['4:14 migration_windows[0].lockout window one has a lockout and no end: give it an end or leave the lockout out'],
  ],
  [
    'a lockout outside',
    'name: a\nmigration_windows:\n  - name: one\n    end: 2026-03-28T21:00Z\n    lockout: 2026-03-28T22:00Z\n',
    [
      '5:14 migration_windows[0].lockout the lockout of window one at 2026-03-28T22:00:00.000Z is not within it: choose a time between its start and its end',
    ],
  ],
  [
    'a window name twice',
    'name: a\nmigration_windows:\n  - { name: one, end: 2026-03-28T21:00Z }\n  - { name: one, start: 2026-03-28T21:00Z }\n',
    ['4:13 migration_windows[1].name there is another window one: give each its own name'],
  ],
  [
    'a constraint name or expression twice',
    'name: a\nconstraints:\n  - { name: one, include_expression: "true" }\n  - { name: one, include_expression: "true" }\n',
    [
      '4:13 constraints[1].name another constraint of the batch has that name',
      '4:38 constraints[1].include_expression another constraint of the batch has that expression: only the last one would ever apply',
    ],
  ],
  [
    'two migration networks for one project',
    'name: a\ndefaults:\n  migration_network:\n    - { target: t, network: br0 }\n    - { target: t, network: br1 }\n',
    ['5:7 defaults.migration_network[1] another one is for the same target and project'],
  ],
  [
    'a VLAN on a managed network',
    'name: a\ndefaults:\n  migration_network:\n    - { target: t, network: br0, vlan_id: 10 }\nplacement_rules:\n  - when: "true"\n    set: { network: [{ when_nic: "true", network: br0, vlan_id: "1,2" }] }\n',
    [
      '4:43 defaults.migration_network[0].vlan_id is only for bridged and physical: a managed network has its own',
      '7:65 placement_rules[0].set.network[0].vlan_id is only for bridged and physical: a managed network has its own',
    ],
  ],
  [
    'a VLAN that is none',
    'name: a\nnetwork_overrides:\n  net-1: { vlan_id: 5000 }\n',
    ['3:21 network_overrides["net-1"].vlan_id is no VLAN: write 10, or 10,20, or 100-200, each from 1 to 4094'],
  ],
  [
    'an override of what is no uuid',
    'name: a\noverrides:\n  web-1: { cpus: 2 }\n',
    ['3:10 overrides["web-1"] is no UUID in lower case'],
  ],
  [
    'an order that goes round in a circle',
    'name: a\noverrides:\n  00000000-0000-4000-8000-00000000000a:\n    group: 1\n    depends_on: [00000000-0000-4000-8000-00000000000b]\n  00000000-0000-4000-8000-00000000000b: { group: 2 }\n',
    [
      '5:17 overrides["00000000-0000-4000-8000-00000000000a"].depends_on makes a circle, in which nobody ever begins: 00000000-0000-4000-8000-00000000000a of group 1 waits for 00000000-0000-4000-8000-00000000000b of group 2 waits for group 1 waits for 00000000-0000-4000-8000-00000000000a of group 1',
    ],
  ],
  [
    'overrides that contradict each other',
    `name: a
overrides:
  5298cc11-96ea-4f50-b018-6d80bfdaa7d9:
    started_after_migration: true
    stopped_after_migration: true
    os_type: windows
    distribution: ubuntu
    distribution_version: "22.04"
`,
    [
      '5:30 overrides["5298cc11-96ea-4f50-b018-6d80bfdaa7d9"].stopped_after_migration excludes started_after_migration',
      '7:19 overrides["5298cc11-96ea-4f50-b018-6d80bfdaa7d9"].distribution ubuntu is no system of type windows',
      '8:27 overrides["5298cc11-96ea-4f50-b018-6d80bfdaa7d9"].distribution_version is no version of that system',
    ],
  ],
  [
    'names that are none',
    'name: "a b"\nmigration_windows:\n  - name: x/y\noverrides:\n  5298cc11-96ea-4f50-b018-6d80bfdaa7d9: { name: -web }\n',
    [
      '1:7 name is no name: it begins and ends with a letter or digit, has 1 to 64 characters, without blanks and $ ? & + " \' ` * /',
      '3:11 migration_windows[0].name is no name: it begins and ends with a letter or digit, has 1 to 64 characters, without blanks and $ ? & + " \' ` * /',
      '5:49 overrides["5298cc11-96ea-4f50-b018-6d80bfdaa7d9"].name is no host name: 1 to 63 letters, digits and -, not only digits, no - at its ends',
    ],
  ],
  [
    'a name that is too long',
    `name: ${'a'.repeat(65)}\n`,
    [
      '1:7 name is no name: it begins and ends with a letter or digit, has 1 to 64 characters, without blanks and $ ? & + " \' ` * /',
    ],
  ],
];
describe('a batch file is refused, each mistake with its line, with', () => {
  for (const [what, text, expected] of wrong) test(what, () => assert.deepEqual(lines(bad(text)), expected));

  test('an expression that is too long', () => {
    const text = `name: a\ninclude_expression: "${'x'.repeat(4_097)}"\n`;
    assert.deepEqual(lines(bad(text)), ['2:21 include_expression is longer than 4096 characters']);
  });

  test('more than its workflow can carry', () => {
    const overrides = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, i) => [
        `5298cc11-96ea-4f50-b018-${String(i).padStart(12, '0')}`,
        { comment: 'x'.repeat(60) },
      ]),
    );
    assert.deepEqual(lines(bad(stringify({ name: 'a', overrides }))), [
      '1:1  the batch is larger than 150 KB: make two of it',
    ]);
  });

  test('YAML that is broken', () => {
    assert.deepEqual(lines(bad('name: a\nconfig: {\n')), [
      '3:1  Flow map in block collection must be sufficiently indented and end with a }',
    ]);
  });
});

describe('windows', () => {
  const window = (more: string): string => `name: a\nmigration_windows:\n  - name: one\n${more}`;
  const over = window('    end: 2026-02-01T22:00Z\n');

  test('one that is over stays if the batch had it before, just so', () => {
    const [spec] = [
      { ...good('name: a').spec, migration_windows: [{ name: 'one', end: '2026-02-01T22:00:00.000Z', capacity: 0 }] },
    ];
    assert.equal(good(over, spec).spec.migration_windows.length, 1);
    const other = { ...spec, migration_windows: [{ name: 'one', end: '2026-02-01T23:00:00.000Z', capacity: 0 }] };
    assert.equal(bad(over, other).length, 1);
  });

  test("one that has begun and isn't over is taken", () => {
    assert.equal(
      good(window('    start: 2026-02-01T22:00Z\n    end: 2026-03-02T22:00Z\n')).spec.migration_windows.length,
      1,
    );
  });

  test("ones that touch don't overlap, in any order in the file", () => {
    const text = window('    start: 2026-03-29T00:00Z\n  - name: two\n    end: 2026-03-29T00:00Z\n');
    assert.equal(good(text).spec.migration_windows.length, 2);
  });

  test('one without times overlaps every other', () => {
    assert.match(lines(bad(window('  - name: two\n'))).join(), /windows one and two have the same times/);
  });

  const instants = fc.integer({ min: 0, max: 8 });
  test('are refused exactly when two of them have a moment in common', () => {
    const spans = fc.array(fc.tuple(instants, fc.integer({ min: 1, max: 4 })), { maxLength: 4 });
    fc.assert(
      fc.property(spans, (some) => {
        const at = (hour: number): string => `2026-03-28T${String(hour).padStart(2, '0')}:00Z`;
        const windows = some.map(([start, hours], i) => ({ name: `w${i}`, start: at(start), end: at(start + hours) }));
        const isHit = some.some(([a, x], i) => some.some(([b, y], j) => i < j && a < b + y && b < a + x));
        const result = parseBatchFile(stringify({ name: 'a', migration_windows: windows }), now);
        assert.equal('problems' in result, isHit);
      }),
    );
  });
});

describe('a mistake that was found in a field is shown in the file', () => {
  const forms: readonly (readonly [string, string, string])[] = [
    ['plain', 'include_expression: name == nosuch\n', '2:29'],
    ['in single quotes', "include_expression: 'name == ''a'' and nosuch'\n", '2:40'],
    ['in double quotes', 'include_expression: "name == \\"a\\" and nosuch"\n', '2:40'],
    ['with an escape', 'include_expression: "name == \\x61 and nosuch"\n', '2:39'],
    ['in a block', 'include_expression: |\n  name == "a"\n    and nosuch\n', '4:9'],
    ['in a folded block', 'include_expression: >-\n  name == "a"\n  and nosuch\n', '4:7'],
    ['over several lines', 'include_expression: name == "a"\n  and nosuch\n', '3:7'],
    ['over several lines in quotes', 'include_expression: "name == \'a\'\n  and\n\n  nosuch"\n', '5:3'],
  ];
  for (const [what, text, place] of forms)
    test(what, () => {
      const file = good(`name: a\n${text}`);
      const before = file.spec.include_expression.split('nosuch')[0]!.split('\n');
      const inside = { line: before.length, column: before.at(-1)!.length + 1 };
      const found = file.locate({ path: 'include_expression', message: 'unknown name', ...inside });
      assert.deepEqual([`${found.line}:${found.column}`, found.path], [place, 'include_expression']);
    });

  test('the end of an expression is behind its last character, whatever follows', () => {
    const file = good('name: a\ninclude_expression: |\n  name ==\nconstraints: []\n');
    const found = file.locate({ path: 'include_expression', message: 'it ends here', line: 2, column: 1 });
    assert.deepEqual([found.line, found.column], [3, 10]);
  });

  test('of a field that the file leaves out where its parent is, of one that it has through an alias where that is', () => {
    const file = good(`name: a
include_expression: &all nosuch
placement_rules:
  - { when: *all, set: {} }
`);
    const inside = { message: 'm', line: 1, column: 3 };
    const placeOf = (path: string): string => {
      const { line, column } = file.locate({ path, ...inside });
      return `${line}:${column}`;
    };
    assert.equal(placeOf('include_expression'), '2:28');
    assert.equal(placeOf('placement_rules[0].when'), '4:13');
    assert.equal(placeOf('placement_rules[0].set.target'), '4:24');
    assert.equal(placeOf('config.placement_scriptlet'), '1:1');
  });

  test('every character of a quoted expression is found where it stands', () => {
    const text = fc.string({ minLength: 1, maxLength: 30, unit: fc.constantFrom('a', ' ', "'", '"', '\\', '=', 'é') });
    fc.assert(
      fc.property(text, fc.constantFrom('QUOTE_SINGLE', 'QUOTE_DOUBLE' as const), (value, type) => {
        fc.pre(value.trim() !== '');
        const quoted = stringify(value, { defaultStringType: type, lineWidth: 0 }).trimEnd();
        const source = `name: a\ninclude_expression: ${quoted}\n`;
        const file = good(source);
        const row = source.split('\n')[1] ?? '';
        [...value.trimEnd()].forEach((char, i) => {
          const { column } = file.locate({ path: 'include_expression', message: '', line: 1, column: i + 1 });
          const shown = row.charAt(column - 1);
          assert.ok(shown === char || shown === '\\', `${row} at ${column}: ${shown} for ${char}`);
        });
      }),
    );
  });
});

test('a path is read back as it was written', () => {
  const part = fc.oneof(fc.nat(20), fc.string(), fc.constantFrom('constraints', 'a.b', '["x"]', '/DC0/net "1"'));
  fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), (path) => {
      assert.deepEqual(parsePath(pathText(path)), path);
    }),
  );
});

describe('a batch as a workflow holds it', () => {
  test('is checked by the same rules', () => {
    const { spec } = good('name: a');
    assert.deepEqual(problemsOfSpec(spec, now.getTime()), []);
    const over = { name: 'one', end: '2026-02-01T22:00:00.000Z', capacity: 0 };
    const found = problemsOfSpec({ ...spec, migration_windows: [over] }, now.getTime());
    assert.deepEqual(found, [
      {
        path: 'migration_windows[0].end',
        message: 'window one ended at 2026-02-01T22:00:00.000Z: choose a later end or leave the window out',
      },
    ]);
    const previous = { ...spec, migration_windows: [over] };
    assert.deepEqual(problemsOfSpec(previous, now.getTime(), previous), []);
    assert.match(problemsOfSpec({ name: 1 }, 0)[0]?.message ?? '', /must be a text/);
    assert.match(problemsOfSpec(undefined, 0)[0]?.message ?? '', /is missing/);
  });

  test('must be complete', () => {
    const checked = checkSpec({ name: 'a' }, batchSpecSchema, 0);
    const mistakes = 'mistakes' in checked ? checked.mistakes : assert.fail('it was accepted');
    assert.ok(mistakes.some(({ path, message }) => pathText(path) === 'config' && message === 'is missing'));
  });

  test('has no durations in words', () => {
    const { spec } = good('name: a');
    const worded = { ...spec, config: { ...spec.config, background_sync_interval: '10m' } };
    assert.ok('mistakes' in checkSpec(worded, batchSpecSchema, now.getTime()));
  });
});
