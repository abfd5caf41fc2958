import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchFileSchema, parseBatchFile } from '../../../activities/schemas/batch-file.ts';
import { configSchema } from '../../../activities/schemas/config.ts';
import { parse } from 'yaml';
import { codeBlocks, pageAt, pages, tableRows } from './markdown.ts';
import { settings } from './settings.ts';

/** `tls` is the same in every entry and is told once. */
const short = (path: string): string => path.replace(/^\w+\.NAME\.tls\./, 'tls.');

test('the page of settings has every key of vmflow.yaml with its default, and no other', () => {
  const told = tableRows(pageAt('workers/README.md').text, 'setting').map(([path = '', fallback = '']) =>
    `${path} = ${fallback}`.replaceAll('`', ''),
  );
  const known = settings(configSchema).map(({ path, fallback = '' }) => `${short(path)} = ${fallback}`);
  assert.ok(known.length >= 80);
  assert.deepEqual(told.sort(), [...new Set([...known, 'tls.mode = ca'])].sort());
});

test('the page of batches has every field of a batch file with its default, and no other', () => {
  const told = tableRows(pageAt('workflows/batch/README.md').text, 'field').map(([path = '', fallback = '']) =>
    `${path} = ${fallback}`.replaceAll('`', ''),
  );
  const known = settings(batchFileSchema).map(({ path, fallback = '' }) => `${path} = ${fallback}`);
  assert.ok(known.length >= 50);
  assert.deepEqual(told.sort(), known.sort());
});

test('every vmflow.yaml that is shown is one', () => {
  const sections = Object.keys(configSchema.shape);
  const shown = pages
    .flatMap(({ text }) => codeBlocks(text, 'yaml'))
    .map((text): unknown => parse(text))
    .filter((value) => Object.keys(value as object).every((key) => sections.includes(key)));
  assert.ok(shown.length >= 4);
  for (const value of shown) assert.deepEqual(mistakes(value), [], JSON.stringify(value));
});

test('the batch file that is shown is one', () => {
  const [shown = ''] = codeBlocks(pageAt('README.md').text, 'yaml').filter((text) => text.startsWith('name: '));
  const result = parseBatchFile(shown, new Date('2030-01-01T00:00:00Z'));
  assert.ok('spec' in result, JSON.stringify(result));
});

/** What a shortened example leaves out is no mistake. */
function mistakes(value: unknown): string[] {
  const { error } = configSchema.safeParse(value);
  return (error?.issues ?? [])
    .filter(({ code, message }) => code !== 'custom' && !/received undefined/.test(message))
    .map(({ path, message }) => `${path.join('.')}: ${message}`);
}
