import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { compileExpression, ExpressionError } from '../../../../activities/placement/expression/expression.ts';
import type { ExpressionErrorKind } from '../../../../activities/placement/expression/error.ts';
import { instance, now } from './builders.ts';

/** Text, line and column, and what the message says. */
type Row = readonly [text: string, line: number, column: number, problem: RegExp];

function refusals(kind: ExpressionErrorKind, rows: readonly Row[], act: (text: string) => unknown): void {
  for (const [text, line, column, problem] of rows) {
    test(text, () => {
      assert.throws(
        () => act(text),
        (err: unknown) => {
          assert.ok(err instanceof ExpressionError, String(err));
          assert.match(err.problem, problem);
          assert.deepEqual([err.kind, err.line, err.column], [kind, line, column], err.message);
          assert.equal(err.expression, text);
          return true;
        },
      );
    });
  }
}

const compile = (text: string): unknown => compileExpression(text, 'instance');

suite('batch/S04: expressions that can never be evaluated are refused with their place', () => {
  refusals(
    'type',
    [
      ['"string"', 1, 1, /must be true or false, but is string/],
      ["path_base(123) == 'c'", 1, 1, /path_base\(path\) can't be called with \(int\)/],
      ["path_base() == 'c'", 1, 1, /can't be called with \(\)/],
      ["uuid.String() == 'x'", 1, 5, /no methods: \.String\(\)/],
      ['nosuch == 1', 1, 1, /unknown name "nosuch".*uuid, /],
      ['len(disks)', 1, 1, /must be true or false, but is int/],
    ],
    compile,
  );
});

suite('wrong types are refused', () => {
  refusals(
    'type',
    [
      ['cpus == "2"', 1, 6, /"==" has no meaning between int and string/],
      ['len(5) == 1', 1, 1, /can't be called with \(int\)/],
      ['name', 1, 1, /but is string/],
      ['find(disks, .shared)?.shared', 1, 1, /bool or nil: say what nil means/],
      ['true and\n  cpus', 1, 6, /"and" has no meaning between bool and int/],
      ['source in\n  [1, 2]', 1, 8, /"in" has no meaning between string and list of int/],
      ["'a' in name", 1, 5, /between string and string/],
      ["'é' == 'é' and nosuch", 1, 16, /unknown name/],
      ["'😀' == nosuch", 1, 8, /unknown name/],
      ["not name == 'x'", 1, 1, /"not" has no meaning in front of string \(not binds tighter/],
      ["!location matches 'x'", 1, 1, /! binds tighter/],
      ['-name == 1', 1, 1, /"-" has no meaning in front of string$/],
      ['1 < cpus < 4', 1, 10, /between bool and int/],
      ["name + 1 == 'x1'", 1, 6, /between string and int/],
      ['disks[0].nosuch', 1, 9, /a disk has no field "nosuch"; it has: name, capacity/],
      ['name.length == 1', 1, 5, /no \.length in a value of type string/],
      ['disks["a"].shared', 1, 7, /index of a list of disk is int, not string/],
      ['config[0] == ""', 1, 8, /index of a map of strings is string, not int/],
      ['disks[0][name] == 1', 1, 10, /fields of a disk have different types/],
      ["name[0] == 'u'", 1, 5, /text\[0:1\]/],
      ['cpus[0:1] == 1', 1, 5, /no \[from:to\]/],
      ["name['a':] == ''", 1, 6, /is int, not string/],
      ["[1, 'a'] == []", 1, 1, /one type, here they are int and string/],
      ['(true ? 1 : "a") == 1', 1, 7, /both sides of ":".*int and string/],
      ['cpus ? true : false', 1, 1, /in front of "\?" is bool, not int/],
      ['{a: 1, a: 2}.a == 1', 1, 8, /has "a" twice/],
      ['any(name, true)', 1, 5, /any takes a list, not string/],
      ['any(disks, .capacity)', 1, 12, /any needs a bool for each element, not int/],
      ['sum(disks, .name) == 1', 1, 12, /sum needs a number/],
      ['any(disks)', 1, 1, /any needs a condition/],
      ['count(disks) == 1', 1, 1, /needs a bool for each element, not disk/],
      ['nosuch(1)', 1, 1, /unknown function "nosuch"; there are: .*lower.*filter/],
      ['lower() == ""', 1, 1, /lower\(text\) can't be called with \(\)/],
      ["join([1], ',') == ''", 1, 1, /can't be called with \(list of int, string\)/],
      ['now(1) == now()', 1, 1, /can't be called with \(int\)/],
      ['now() == 1', 1, 7, /between time and int/],
      ['now() + now() == now()', 1, 7, /between time and time/],
      ["max(name) == 'a'", 1, 1, /can't be called with \(string\)/],
      ['first(disks, 1) == nil', 1, 1, /can't be called/],
      ['1 in {a: 1}', 1, 3, /between int and map/],
      ["name matches '('", 1, 14, /no pattern of RE2: missing closing \)/],
      ["name matches '(?=a)'", 1, 14, /no pattern of RE2/],
      ["name matches '(a)\\\\1'", 1, 14, /no pattern of RE2/],
      ["name matches '.{1000}.{1000}.{1000}'", 1, 14, /too large/],
      ['(1..100001) == []', 1, 3, /more than 100000 elements/],
      ['constructor == 1', 1, 1, /unknown name/],
      ['toString() == ""', 1, 1, /unknown function/],
      ['disks[0].constructor == nil', 1, 9, /no field/],
    ],
    compile,
  );
});

suite('what is no expression is refused', () => {
  refusals(
    'syntax',
    [
      ['', 1, 1, /the end of the expression can't stand here/],
      ['  // nothing', 1, 13, /the end/],
      ['cpus >', 1, 7, /the end/],
      ['cpus = 2', 1, 6, /equality is "=="/],
      ['cpus == 2 3', 1, 11, /"3" can't follow here/],
      ['(cpus == 2', 1, 11, /"\)" of the bracket is missing/],
      ['cpus == 2)', 1, 10, /"\)" can't follow/],
      ['[1, 2', 1, 6, /"," or "]" is missing/],
      ['{1: 2} == {}', 1, 2, /key of a map is a name or a text/],
      ['true ? false', 1, 13, /":" of the choice is missing/],
      ['disks[0 == 1', 1, 13, /"]" of the index is missing|":"/],
      ['disks. == 1', 1, 6, /a name must follow the dot/],
      ["name == 'a", 1, 9, /no closing '/],
      ["name == 'a\\q'", 1, 11, /"\\q" is no escape/],
      ["name == '\\U00110000'", 1, 10, /no escape/],
      ['cpus == 0x', 1, 9, /is no number/],
      ['cpus == 1_', 1, 9, /is no number/],
      ['cpus == 12ab', 1, 9, /is no number/],
      ['cpus == 9223372036854775808', 1, 9, /doesn't fit into 64 bits/],
      ['cpus == 1e999', 1, 9, /too large for a float/],
      ['cpus == 1 /* open', 1, 11, /comment that begins here has no end/],
      ['let x', 1, 5, /"x" can't follow/],
      ['disks | len() == 1', 1, 7, /"\|" can't follow/],
      ['cpus == #', 1, 9, /element of a predicate/],
      ['.shared', 1, 1, /element of a predicate/],
      ['any(disks, #acc)', 1, 13, /no "#acc"/],
      ['any(disks, {.shared)', 1, 20, /"}" of the predicate/],
      ['cpus not == 2', 1, 6, /"not" can't follow/],
      ['cpus not 2', 1, 6, /"not" can't follow/],
      ['in', 1, 1, /can't stand here/],
      ['cpus ==\n\n   @', 3, 4, /"@" is nothing here/],
      ['cpus == 2 😀', 1, 11, /"😀" is nothing here/],
    ],
    compile,
  );
});

suite('what can not be evaluated for a record is an error, not false', () => {
  refusals(
    'runtime',
    [
      ['disks[7].shared', 1, 6, /no element 7: the list has 2/],
      ['disks[-3].shared', 1, 6, /no element -3/],
      ['not disks[9].shared', 1, 10, /no element 9/],
      ["find(disks, .shared).name == ''", 1, 1, /this is nil/],
      ['first([]) == 1 or min([]) > 1', 1, 19, /this is nil/],
      ['{a: 1}[source] + 1 == 2', 1, 7, /this is nil/],
      ["name matches (name + '(')", 1, 6, /no pattern of RE2/],
      ['cpus / (cpus - 2) > 1', 1, 6, /divisor of \/ is 0/],
      ['cpus % (cpus - 2) == 1', 1, 6, /divisor of % is 0/],
      ['9223372036854775807 + cpus > 0', 1, 21, /doesn't fit into 64 bits/],
      ['10.0 ** 308 * 10.0 > 0', 1, 13, /no finite number/],
      ['(0 - 8) ** 0.5 > 0', 1, 9, /no finite number/],
      ['int(name) == 1', 1, 1, /"ubuntu2404" is no integer/],
      ["int('9223372036854775808') == 1", 1, 1, /doesn't fit/],
      ['int(2.0 ** 63) == 1', 1, 1, /doesn't fit/],
      ["float('NaN') == 1", 1, 1, /"NaN" is no number/],
      ["float('0x10') == 1", 1, 1, /no number/],
      ["date('2026-02-30') < now()", 1, 1, /no date/],
      ["date('yesterday') < now()", 1, 1, /no date/],
      ["duration('1 day') > duration('1h')", 1, 1, /no duration/],
      ["duration('') > duration('1h')", 1, 1, /no duration/],
      ["true and\n duration('x1h') > duration('1h')", 2, 2, /no duration/],
    ],
    (text) => compileExpression(text, 'instance').evaluate(instance(), { now }),
  );
});
