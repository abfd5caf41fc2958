import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { compileExpression } from '../../../../activities/placement/expression/expression.ts';
import { instance, now } from './builders.ts';

function holds(text: string): boolean {
  return compileExpression(text, 'instance').evaluate(instance(), { now });
}

/** Conditions of each part of the language that hold for the VM of the builder. */
const trueOnes: Readonly<Record<string, readonly string[]>> = {
  literals: [
    'true',
    'not false',
    'nil == nil',
    '42 == 0x2A',
    '0b101 == 5 and 0o17 == 15',
    '1_000 == 1000',
    '1.5e1 == 15',
    '.5 + .5 == 1',
    `'a"b' == "a\\"b"`,
    `"\\x41\\u0042\\U00000043\\104" == 'ABCD'`,
    `'tab\\t' != 'tabt'`,
    '`a\\n` == "a\\\\n"',
    '[1, 2, 3] == [1, 2, 3]',
    '[1, 2.5,] == [1.0, 2.5]',
    "{a: 1, 'b c': 'x'}.a == 1",
    "{a: 1, 'b c': 'x'}['b c'] == 'x'",
    '[] == []',
    '{} == {}',
  ],
  arithmetic: [
    '1 + 2 * 3 == 7',
    '(1 + 2) * 3 == 9',
    '10 - 3 - 2 == 5',
    '7 / 2 == 3.5',
    '8 / 2 == 4',
    '7 % 3 == 1 and -7 % 3 == -1',
    '2 ** 3 ** 2 == 512',
    '2 ^ 10 == 1024',
    '-2 ** 2 == -4',
    '- -1 == 1',
    '1 + 0.5 == 1.5',
    "'a' + 'b' + 'c' == 'abc'",
    '1024*1024*1024*8 == 8589934592',
    '9007199254740993 != 9007199254740992',
    '9007199254740991 + 2 == 9007199254740993',
    '9223372036854775807 - 9223372036854775806 == 1',
    '3037000499 * 3037000499 == 9223372030926249001',
    '-9223372036854775807 - 1 < -9223372036854775807',
  ],
  comparison: [
    '1 < 2 and 2 <= 2 and 3 > 2.5 and 3.0 >= 3',
    '9007199254740993 > 9007199254740992.0',
    "'a' < 'b' and 'B' < 'a' and '' < 'a' and 'a' < 'aa'",
    "'\\uFF5E' < '😀'",
    "'ä' != 'a'",
    'name != nil and not (name == nil)',
    'disks[0] == disks[0] and disks[0] != disks[1]',
    "keys({a: 1, b: 2}) == ['a', 'b']",
  ],
  logic: [
    'true or disks[9].shared',
    'not (false and disks[9].shared)',
    'true || false && false',
    '!true == false',
    'not true == false',
    '!(1 == 2) && !false',
    'not false and true',
  ],
  membership: [
    "source in ['vc1', 'vcenter01']",
    "source not in ['vc1']",
    "not (source in ['vc1'])",
    "'tag.tier' in config and 'tag.nosuch' not in config",
    "'capacity' in disks[0] and 'nosuch' not in disks[0]",
    "config.nosuch == '' and config['no such'] == ''",
    "config['constructor'] == '' and config.__proto__ == '' and 'toString' not in config",
    "config['tag.tier'] == 'production'",
    'disks[-1] == disks[1] and disks[-2] == disks[0]',
    'cpus in 1..4 and cpus not in 3..4 and 5..1 == []',
    '(1..5)[1:3] == [2, 3] and (1..5)[:2] == [1, 2] and (1..5)[3:] == [4, 5] and (1..5)[-2:] == [4, 5]',
    '(1..3)[5:9] == []',
    "name[0:6] == 'ubuntu' and name[:-4] == 'ubuntu' and 'a😀b'[1:2] == '😀'",
    "{vc1: 'a', vcenter01: 'b'}[source] == 'b'",
    "{vc1: 'a'}[source] == nil",
    'nil in [1, nil]',
    "nil not in ['a']",
    'disks[0] in disks',
  ],
  'what may be nil': [
    'find(disks, .shared) == nil',
    'find(disks, .shared)?.name == nil',
    "(find(disks, .shared)?.name ?? 'none') == 'none'",
    "find(disks, .shared)?.name ?? 'none' == 'none'",
    "find(disks, not .shared).name == '[ds1] web/web.vmdk'",
    'findIndex(disks, .shared) == nil',
    "findIndex(nics, .location endsWith '/DMZ') == 1",
    'first([]) == nil and last([]) == nil',
    "first(nics)?.ipv4_address == '10.0.0.5'",
    '(find(disks, .shared)?.capacity ?? 0) + 1 == 1',
    "{a: {b: 'x'}}?.a?.b == 'x'",
    'map([true, false], # ? nil : 1) == [nil, 1]',
    "map([disks[0]], {find(disks, .shared)?.name ?? 'x'}) == ['x']",
    "nil ?? 'a' == 'a'",
    'find([[1], [2, 3]], len(#) == 2)?.[1] == 3',
    'find([[1]], len(#) == 2)?.[1] == nil',
    'find([{a: [1]}], len(.a) == 2)?.a[0:1] == nil',
  ],
  'infix words': [
    "location contains 'Incus' and location not contains 'nosuch'",
    "location startsWith '/DC0' and location endsWith 'ubuntu2404'",
    "location not startsWith '/DC1' and location not endsWith '/'",
    "name matches '^u.*[0-9]{4}$' and name not matches '^[0-9]'",
    "location matches '/Incus migrations/'",
    "uuid matches '^52'",
    "name matches '(?i)UBUNTU'",
    "'😀' matches '^.$'",
    "'x' matches name[0:0]",
    'any(nics, location matches path_dir(.location)) == false',
  ],
  'choices and ranges': [
    "cpus > 1 ? name == 'ubuntu2404' : false",
    'false ? false : true ? true : false',
    'cpus == 2 ?.5 == 0.5 : false',
    'map(1..3, # * #) == [1, 4, 9]',
    '0..0 == [0] and -1..1 == [-1, 0, 1]',
  ],
  predicates: [
    'all(disks, .supported) and all([], false)',
    "any(nics, .ipv4_address == '') and not any([], true)",
    "one(nics, .ipv4_address == '')",
    'none(disks, .shared)',
    "len(filter(disks, .name matches 'mydisk')) == 1",
    'filter(1..5, # % 2 == 0) == [2, 4]',
    "map(snapshots, .name) == ['before update']",
    'map(disks, #index) == [0, 1]',
    'count(nics, .ipv4_address != "") == 1',
    'count(map(disks, .background_import_verified)) == 1',
    'sum(disks, .capacity) == 210 * 1024 * 1024 * 1024',
    'sum([1, 2, 3]) == 6 and sum([1.5, 1]) == 2.5 and sum([]) == 0',
    'any(disks, { .capacity > 100 })',
    'any(disks, #.capacity > 100)',
    'all(disks, {not .shared})',
    'map(1..2, map(1..2, # * 10)) == [[10, 20], [10, 20]]',
    'any(map(disks, {{n: .name, c: .capacity}}), .n contains "mydisk" and .c > 100)',
    "any(split(config['tag.mycategory'], ','), # == 'tag1')",
    'filter(disks, #index > 0)[0] == disks[1]',
  ],
  'functions of texts': [
    "len('a😀b') == 3 and len('') == 0",
    "lower('ÄbC') == 'äbc' and upper('äb') == 'ÄB'",
    "trim('  a \\n') == 'a' and trim('xxaxbxx', 'x') == 'axb' and trim('xxx', 'x') == ''",
    "trimPrefix('foobar', 'foo') == 'bar' and trimSuffix('foobar', 'bar') == 'foo' and trimSuffix('a', '') == 'a'",
    "split('a,b,,c', ',') == ['a', 'b', '', 'c'] and split('', ',') == [''] and split('a😀', '') == ['a', '😀']",
    "split('a,b,c', ',', 2) == ['a', 'b,c'] and splitN('a,b,c', ',', 1) == ['a,b,c'] and splitN('a,b', ',', 0) == []",
    "splitN('a,b,c', ',', -1) == ['a', 'b', 'c']",
    "replace('aXbX', 'X', '-') == 'a-b-' and replace('aXbXc', 'X', '-', 1) == 'a-bXc' and replace('a', 'a', 'b', 0) == 'a'",
    "replace('ab', '', '-') == '-a-b-' and replace('ab', '', '-', 2) == '-a-b' and replace('', '', '-') == '-'",
    "join(['a', 'b'], ', ') == 'a, b' and join(['a', 'b']) == 'ab' and join([], ',') == ''",
    "indexOf('a😀bc', 'b') == 2 and indexOf('abc', 'z') == -1 and lastIndexOf('abcabc', 'b') == 4",
    "hasPrefix('abc', 'ab') and not hasSuffix('abc', 'ab')",
  ],
  'functions of lists and maps': [
    'len(disks) == 2 and len(config) == 3 and len({a: 1}) == 1',
    'first(1..3) == 1 and last(1..3) == 3',
    "'tag.tier' in keys(config) and 'production' in values(config)",
    'values({a: 1, b: 2}) == [1, 2]',
  ],
  'functions of numbers': [
    'min(3, 1, 2) == 1 and max([3, 1, 2]) == 3 and max(1, [5, 2], 3) == 5 and min(1, 0.5) == 0.5',
    'min([]) == nil',
    'abs(-3) == 3 and abs(-2.5) == 2.5',
    "int('42') == 42 and int(-4.7) == -4 and int('-9223372036854775808') < 0 and int(2.0 ** 60) == 1152921504606846976",
    "float('1.5') == 1.5 and float(1) / 2 == 0.5",
    "string(42) == '42' and string(1.5) == '1.5' and string(4 / 2) == '2' and string(true) == 'true' and string('a') == 'a'",
    "string(9007199254740993) == '9007199254740993'",
  ],
  'functions of time': [
    "now() == date('2026-06-02T10:00:00Z')",
    "last_update_from_source == date('2026-06-01 10:00:00')",
    "now() - last_update_from_source == duration('24h')",
    "last_update_from_source + duration('1h30m') < now()",
    "now() - duration('36h') == date('2026-05-31T22:00:00Z')",
    "date('2026-06-02') == date('2026-06-02T02:00:00+02:00')",
    "duration('1h') * 24 == duration('24h') and duration('90m') == duration('1h30m') and duration('-1.5s') == -duration('1500ms')",
  ],
  'functions of the inventory': [
    "path_base('/a/b') == 'b' and path_base('/a/b/') == 'b' and path_base('/') == '/' and path_base('') == '.'",
    "path_dir('/a/b') == '/a' and path_dir('/a/b/') == '/a/b' and path_dir('/a') == '/' and path_dir('a') == '.'",
    "path_dir('/a//b/../c/d') == '/a/c'",
    "has_tag('mycategory', 'tag1') and has_tag('mycategory', 'tag2') and not has_tag('mycategory', 'tag1,tag2')",
    "not has_tag('mycategory', 'tag') and not has_tag('nosuch', 'tag1') and not has_tag('nosuch', '')",
    "matches_tag('mycategory', 'ag1') and not matches_tag('mycategory', '1,t')",
    "has_tag('*', 'production') and has_tag('*', 'tag2') and not has_tag('*', 'pool') and matches_tag('*', 'prod')",
  ],
  comments: [
    'true // and false',
    '/* not */ true',
    "name == /* 'x' */ 'ubuntu2404'\n// the end",
    "'// no comment' != ''",
  ],
};

for (const [part, texts] of Object.entries(trueOnes)) {
  suite(`an expression: ${part}`, () => {
    for (const text of texts) test(text, () => assert.equal(holds(text), true));
  });
}

suite('expressions of batches that exist work unchanged', () => {
  const rows: readonly (readonly [string, boolean])[] = [
    [`location matches '/Incus migrations/' and source == 'vcenter01'`, true],
    [
      `source in ["vc1","vc2"] && (location startsWith "/a/b" || location startsWith "/e/f") && cpus <= 4
  && memory <= 1024*1024*1024*8 && len(disks) == 1 && !disks[0].shared && os in ["Ubuntu 22.04","Ubuntu 24.04"]`,
      false,
    ],
    [`len(filter(disks, .name matches 'mydisk')) > 2`, false],
    [`any(split(config['tag.mycategory'], ','), # == 'tag1')`, true],
    [`count(nics, .ipv4_address != '') == len(nics)`, false],
    [`path_base(location) == 'ubuntu2404' and source == 'esxi01'`, false],
    [`!(location matches "^/a/e/.*$")`, true],
    [`uuid == '5298cc11-96ea-4f50-b018-6d80bfdaa7d9' or uuid == '52cfcb6b-20ee-add3-adc9-68c63ca9adfd'`, true],
  ];
  for (const [text, expected] of rows) test(`batch/S04: ${text}`, () => assert.equal(holds(text), expected));

  test('the long one holds for a VM that is as it says', () => {
    const vm = instance({ source: 'vc2', location: '/e/f/x', os: 'Ubuntu 22.04', disks: instance().disks.slice(0, 1) });
    assert.equal(compileExpression(rows[1]![0], 'instance').evaluate(vm, { now }), true);
  });
});

test('uuids are lower-case texts, those of networks of NICs too', () => {
  const vm = instance({ uuid: '5298CC11-96EA-4F50-B018-6D80BFDAA7D9' });
  const text = "uuid == '5298cc11-96ea-4f50-b018-6d80bfdaa7d9' and nics[0].uuid startsWith '0b7e7a5c'";
  assert.equal(compileExpression(text, 'instance').evaluate(vm, { now }), true);
});

test('a record that was never updated is older than all times', () => {
  const never = instance({ last_update_from_source: '' });
  const text = "last_update_from_source < date('1970-01-01')";
  assert.equal(compileExpression(text, 'instance').evaluate(never, { now }), true);
});

test('expressions about networks, disks and NICs see the fields of those', () => {
  const [disk] = instance().disks;
  const [nic] = instance().nics;
  assert.ok(compileExpression('capacity >= 10*1024*1024*1024 and not shared', 'disk').evaluate(disk!, { now }));
  assert.ok(compileExpression("location endsWith '/VM Network'", 'nic').evaluate(nic!, { now }));
  assert.throws(() => compileExpression('cpus > 1', 'disk'), /unknown name "cpus"/);
  assert.throws(() => compileExpression("has_tag('a', 'b')", 'nic'), /has_tag is for expressions about instances/);
  assert.throws(() => compileExpression("host == 'x'", 'instance'), /unknown name "host"/);
  assert.throws(() => compileExpression("placement.network == 'x'", 'network'), /unknown name "placement"/);
});
