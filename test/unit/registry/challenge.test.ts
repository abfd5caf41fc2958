import assert from 'node:assert/strict';
import { test } from 'node:test';
import { challengesOf } from '../../../activities/registry/challenge.ts';

const table: readonly (readonly [
  what: string,
  header: string | undefined,
  expected: readonly (readonly [string, object])[],
])[] = [
  ['none', undefined, []],
  ['an empty one', '', []],
  ['a scheme alone', 'Negotiate', [['negotiate', {}]]],
  ['one parameter', 'Basic realm="my vms"', [['basic', { realm: 'my vms' }]]],
  [
    'a token service',
    'Bearer realm="https://auth.example/token",service="r.example",scope="repository:a/b:pull,delete",error="insufficient_scope"',
    [
      [
        'bearer',
        {
          realm: 'https://auth.example/token',
          service: 'r.example',
          scope: 'repository:a/b:pull,delete',
          error: 'insufficient_scope',
        },
      ],
    ],
  ],
  [
    'several in one line',
    'Basic realm="a, b", Bearer realm="https://x/", service = s , Negotiate',
    [
      ['basic', { realm: 'a, b' }],
      ['bearer', { realm: 'https://x/', service: 's' }],
      ['negotiate', {}],
    ],
  ],
  [
    'a scheme before others with parameters',
    'Negotiate, Basic realm=x',
    [
      ['negotiate', {}],
      ['basic', { realm: 'x' }],
    ],
  ],
  ['quotes in quotes', 'Basic realm="a \\"b\\" c"', [['basic', { realm: 'a "b" c' }]]],
  ['names in capitals', 'BEARER Realm="x"', [['bearer', { realm: 'x' }]]],
  ['a parameter without a scheme', 'realm="x"', []],
];
for (const [what, header, expected] of table) {
  test(`a challenge: ${what}`, () =>
    assert.deepEqual(
      challengesOf(header).map(({ scheme, parameters }) => [scheme, parameters]),
      expected,
    ));
}
