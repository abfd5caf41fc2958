import assert from 'node:assert/strict';
import { test } from 'node:test';

import { capacityInBytes } from '../../../activities/ova/capacity.ts';

const rows: readonly (readonly [string | undefined, string | undefined, number | undefined])[] = [
  ['4096', undefined, 4096],
  ['4096', 'byte', 4096],
  ['16', 'byte * 2^30', 16 * 2 ** 30],
  ['16', 'byte*2^30', 16 * 2 ** 30],
  ['3', 'byte * 10^9', 3e9],
  ['3', 'byte * 1024', 3072],
  [' 16 ', 'Byte * 2^20', 16 * 2 ** 20],
  ['16', 'GigaBytes', 16 * 2 ** 30],
  ['16', 'MegaBytes', 16 * 2 ** 20],
  ['16', 'KiloBytes', 16 * 2 ** 10],
  ['1', 'TeraBytes', 2 ** 40],
  ['62', 'byte * 2^40', 62 * 2 ** 40],
  ['63', 'byte * 2^40', undefined],
  ['99999999999999999999999', 'byte', undefined],
  ['1', 'byte * 10^999', undefined],
  ['0', 'byte * 2^30', undefined],
  ['1', 'byte * 0', undefined],
  ['1.5', 'byte * 2^30', undefined],
  ['1e3', 'byte', undefined],
  ['', 'byte', undefined],
  [undefined, 'byte', undefined],
  ['1', '', undefined],
  ['1', 'bit * 2^30', undefined],
];

for (const [capacity, unit, bytes] of rows) {
  test(`a capacity of ${String(capacity)} "${String(unit)}" is ${bytes === undefined ? 'refused' : `${String(bytes)} bytes`}`, () => {
    if (bytes !== undefined) assert.equal(capacityInBytes('d', capacity, unit), bytes);
    else
      assert.throws(() => capacityInBytes('d', capacity, unit), {
        code: 'OVF_CAPACITY',
        message: /disk "d" has the capacity/,
      });
  });
}
