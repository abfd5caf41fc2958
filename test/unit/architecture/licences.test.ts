import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { licenceList, licences } from '../../support/licences.ts';

/** None of them asks more than to keep its text. */
const fine =
  /^(MIT|Apache-2\.0|Apache-2\.0 AND MIT|ISC|BSD-[23]-Clause|0BSD|BlueOak-1\.0\.0|Unlicense|PSF-2\.0|CC-BY-4\.0)$/;

test('every package that is shipped has a licence that lets it be, and is listed', async () => {
  const found = await licences();
  assert.ok(found.length > 100);
  assert.deepEqual(
    found.filter((line) => !fine.test(line.split(' ').slice(2).join(' '))),
    [],
  );
  const listed = (await readFile(licenceList, 'utf8')).trimEnd().split('\n');
  assert.deepEqual(listed, found, 'npm run licences writes the list anew');
});
