import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { compileExpression, ExpressionError } from '../../../../activities/placement/expression/expression.ts';
import { limits } from '../../../../activities/placement/expression/limits.ts';
import { instance, now } from './builders.ts';

const long = 'a'.repeat(40_000);
const vm = instance({ description: long, os_description: 'ab'.repeat(5_000) });

function evaluate(text: string): boolean {
  return compileExpression(text, 'instance').evaluate(vm, { now });
}

function failsWith(problem: RegExp, kind = 'limit'): (err: unknown) => boolean {
  return (err) => {
    assert.ok(err instanceof ExpressionError, String(err));
    assert.match(err.problem, problem);
    assert.equal(err.kind, kind);
    return true;
  };
}

/** `replace` inside `replace`: each makes the text this many times longer. */
function doubled(text: string, times: number): string {
  return Array.from({ length: times }).reduce<string>((inner) => `replace(${inner}, 'a', 'aaaaaaaa')`, text);
}

suite('the size of an expression has limits', () => {
  test('4,096 characters', () => {
    const filler = ' '.repeat(limits.text - 4);
    assert.equal(evaluate(`true${filler}`), true);
    assert.throws(() => evaluate(`true ${filler}`), failsWith(/longer than 4096 characters/));
  });

  test('500 parts', () => {
    const sum = (terms: number): string => `${Array.from({ length: terms }, () => '1').join('+')} > 0`;
    assert.equal(evaluate(sum(249)), true);
    assert.throws(() => evaluate(sum(250)), failsWith(/more than 500 parts/));
  });

  test('50 levels, whatever they are made of', () => {
    const levels: readonly (readonly [string, string, string])[] = [
      ['(', 'true', ')'],
      ['not ', 'true', ''],
      ['!', 'true', ''],
      ['[', '1', ']'],
      ['{a: ', '1', '}'],
      ['lower(', "'a'", ')'],
      ['true ? ', 'true', ' : false'],
      ['2 ** ', '1', ''],
      ['disks[', '0', ']'],
    ];
    for (const [open, inner, close] of levels) {
      const deep = open.repeat(60) + inner + close.repeat(60);
      assert.throws(() => compileExpression(deep, 'instance'), failsWith(/nested deeper than 50 levels/), open);
    }
    assert.equal(evaluate('('.repeat(49) + 'true' + ')'.repeat(49)), true);
  });

  test('a long chain is not deep', () => {
    const uuids = Array.from({ length: 80 }, (_, i) => `uuid == '${String(i).padStart(36, '0')}'`);
    assert.equal(evaluate([...uuids, 'true'].join(' or ')), true);
  });
});

test('maps of maps of themselves double with each level, and are refused before they are too many', () => {
  const doubling = (levels: number): string =>
    Array.from({ length: levels }).reduce<string>((inner) => `map(${inner}, {{a: #, b: #}})`, '[1]');
  assert.equal(evaluate(`${doubling(6)} == ${doubling(6)}`), true);
  assert.throws(() => evaluate(`${doubling(28)} == ${doubling(28)}`), failsWith(/more than 1000 fields/, 'type'));
});

suite('what evaluating costs has limits', () => {
  const bombs: readonly (readonly [string, RegExp])[] = [
    ['len(filter(1..90000, # > 0)) == 1', /more than 100000 steps/],
    ['len(map(1..1000, map(1..1000, # + 1))) == 1', /more than 100000 steps/],
    ['1..(1000000000 + cpus) == []', /more than 100000 steps/],
    ['-9223372036854775807..9223372036854775807 == []', /more than 100000 steps/],
    [`${doubled('description', 6)} == ''`, /more than 262144 characters/],
    [`len(map(1..5000, lower(description))) == 1`, /more than 100000 steps/],
    [`any(1..90000, split(description, '') == [])`, /more than 100000 steps/],
    [`join(map(1..30, description), description) == ''`, /more than 262144 characters/],
    [`join(split(description, ''), description) == ''`, /more than 262144 characters/],
    ["replace(description, '', 'xxxxxxxxxxxxxxxx') == ''", /more than 262144 characters/],
    [`len(map(1..3000, description + '')) == 1`, /more than 100000 steps/],
    [
      "any(1..1000, description contains (description[0:20000] + 'b' + description[0:19000]))",
      /more than 100000 steps/,
    ],
    ["any(1..1000, lastIndexOf(description, description[0:20000] + 'b') == 1)", /more than 100000 steps/],
    [
      "any(1..1000, len(split(description, description[0:20000] + 'b' + description[0:9])) == 0)",
      /more than 100000 steps/,
    ],
    ["any(1..90000, description == 'b' + description[1:])", /more than 100000 steps/],
    ['any(1..90000, description < description)', /more than 100000 steps/],
    ["description matches '(?:[ab]*a[ab]{300}){3}[^ab]'", /more than 100000 steps/],
    ["any(1..1000, description matches '(a+)+$' and false)", /more than 100000 steps/],
    ['any(1..90000, trim(description, "b") == "")', /more than 100000 steps/],
    ['any(1..90000, [disks, disks, disks] == [disks, disks, disks] and false)', /more than 100000 steps/],
    ['len(map(1..300, (1..300)[1:])) == 1', /more than 100000 steps/],
    ['description matches description', /may have 200 characters/],
  ];
  for (const [text, problem] of bombs) test(text, () => assert.throws(() => evaluate(text), failsWith(problem)));

  test('patterns of data: each is compiled within the time', () => {
    const text = "any(1..90000, name matches ('.{900}' + string(#)))";
    assert.throws(() => evaluate(text), failsWith(/100000 steps|longer than 50 ms/));
  });

  const harmless: readonly (readonly [string, boolean])[] = [
    ["description matches '(a+)+$'", true],
    ["description matches '(a|aa)+b'", false],
    ["os_description matches '(a|b)*a(a|b){10}c?$'", false],
    ["description contains 'b'", false],
    ["len(replace(description, 'a', 'aa')) == 80000", true],
  ];
  for (const [text, expected] of harmless) {
    test(`${text} is no problem`, () => assert.equal(evaluate(text), expected));
  }

  test('numbers in texts are looked at once', () => {
    const digits = instance({ description: '1'.repeat(200_000) });
    for (const text of ['float(description) > 0', 'int(description) > 0', "duration(description) > duration('1s')"])
      assert.throws(
        () => compileExpression(text, 'instance').evaluate(digits, { now }),
        failsWith(/is no (number|integer|duration)/, 'runtime'),
      );
  });

  test('50 ms by the clock', () => {
    let ms = 0;
    const spentMs = (): number => (ms += 30);
    const text = 'len(filter(1..1000, # % 2 == 0)) == 500';
    assert.throws(
      () => compileExpression(text, 'instance').evaluate(vm, { now, spentMs }),
      failsWith(/takes longer than 50 ms/),
    );
  });

  test('an error is absorbed by nothing', () => {
    for (const text of [
      'true == (len(map(1..90000, # + 1)) > 0) or true',
      'any(1..3, len(map(1..90000, # + 1)) > 0) ?? true',
      '[find(1..90000, # > 90000 - 1 + 5)]?.[0] == nil',
    ])
      assert.throws(() => evaluate(text), failsWith(/more than 100000 steps/), text);
  });

  test('one evaluation costs the next one nothing', () => {
    const costly = compileExpression('len(map(1..20000, #)) == 20000', 'instance');
    for (let i = 0; i < 10; i += 1) assert.equal(costly.evaluate(vm, { now }), true);
  });
});

test('any text is a condition, or is refused as an expression', () => {
  const words = [
    'disks',
    'name',
    'nics',
    '.name',
    '#',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '?',
    '?.',
    '??',
    '..',
    '.',
  ];
  const more = [
    'not',
    'in',
    'and',
    '==',
    '<',
    '+',
    '-',
    '**',
    '1',
    '2.5',
    "'a'",
    'any(',
    'map(',
    'len(',
    'matches',
    'nil',
    'a',
    ' ',
  ];
  const tokens = fc.array(fc.constantFrom(...words, ...more), { maxLength: 25 }).map((all) => all.join(' '));
  fc.assert(
    fc.property(fc.oneof(tokens, fc.string({ unit: 'binary', maxLength: 60 })), (text) => {
      try {
        assert.equal(typeof evaluate(text), 'boolean');
      } catch (err) {
        assert.ok(err instanceof ExpressionError, `${text}: ${String(err)}`);
        assert.ok(err.line >= 1 && err.column >= 1);
      }
    }),
    { numRuns: 3_000 },
  );
});

test('integers are exact, or an error beyond 64 bits', () => {
  const int = fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n });
  const operations: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
    '+': (a, b) => a + b,
    '-': (a, b) => a - b,
    '*': (a, b) => a * b,
    '%': (a, b) => (b === 0n ? 0n : a % b),
  };
  const literal = (value: bigint): string => (value < 0n ? `(0 - ${-value})` : `${value}`);
  fc.assert(
    fc.property(
      int,
      fc.oneof(int, fc.bigInt({ min: -100n, max: 100n })),
      fc.constantFrom(...Object.keys(operations)),
      (a, b, sign) => {
        const expected = operations[sign]!(a, b);
        const isInRange = expected < 2n ** 63n && expected >= -(2n ** 63n) && !(sign === '%' && b === 0n);
        const text = `string(${literal(a)} ${sign} ${literal(b)}) == '${expected}'`;
        if (isInRange) assert.equal(evaluate(text), true, text);
        else assert.throws(() => evaluate(text), failsWith(/64 bits|divisor/, 'runtime'), text);
      },
    ),
  );
});

test('texts are ordered by code point', () => {
  const byCodePoint = (a: string, b: string): boolean => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
  const unit = fc.constantFrom('a', 'b', 'é', '\uFF5E', '😀', '𐀀', '\uE000');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 4 }), fc.string({ unit, maxLength: 4 }), (a, b) => {
      assert.equal(evaluate(`'${a}' < '${b}'`), byCodePoint(a, b));
    }),
  );
});

test('joining what was split gives the text back', () => {
  const unit = fc.constantFrom('a', ',', 'b', '😀');
  fc.assert(
    fc.property(
      fc.string({ unit }),
      fc.string({ unit, maxLength: 2 }),
      fc.integer({ min: 1, max: 5 }),
      (text, by, most) => {
        assert.ok(evaluate(`join(split('${text}', '${by}'), '${by}') == '${text}'`));
        assert.ok(evaluate(`join(splitN('${text}', '${by}', ${most}), '${by}') == '${text}'`));
        assert.ok(evaluate(`len(splitN('${text}', '${by}', ${most})) <= ${most}`));
        assert.ok(evaluate(`replace('${text}', '${by}', '${by}') == '${text}'`));
      },
    ),
  );
});
