import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  freePlaces,
  nextTurns,
  placesOfShard,
  reportEveryMs,
  type Queued,
} from '../../../workflows/domain/batch/turns.ts';

function rows(...phases: readonly string[]): Queued[] {
  return phases.map((text, at): Queued => {
    const [phase = '', later] = text.split(' ');
    return { uuid: String(at), phase, ...(later === undefined ? {} : { later: true }) };
  });
}

test('a batch of one shard has places for 200; more shards share them, and each has a few', () => {
  assert.deepEqual([0, 1, 2, 20, 1_000].map(placesOfShard), [200, 200, 100, 10, 10]);
});

test('shards report every second, and less often where there are many', () => {
  assert.deepEqual([0, 1, 4, 20].map(reportEveryMs), [1_000, 1_000, 1_000, 5_000]);
});

test('those on their way take a place; those that wait for a window, a person, their turn or their source take none', () => {
  assert.equal(freePlaces(rows('waiting', 'queued', 'running', 'committed'), 4), 0);
  const others = rows('none', 'blocked', 'ready', 'conflict', 'error', 'canceled', 'finished', 'waiting later');
  assert.equal(freePlaces([...others, { uuid: 'x', phase: 'waiting', unread: true }], 4), 4);
  assert.equal(freePlaces(rows('running', 'running'), 1), 0);
});

test('turns are given in the order of the rows, once a part of the places is free or there is room for all that are left', () => {
  const later = rows(...Array.from({ length: 20 }, () => 'waiting later'));
  const working = (count: number): Queued[] => rows(...Array.from({ length: count }, () => 'running'));
  const given = (count: number, places: number): number => nextTurns([...working(count), ...later], places).length;
  assert.deepEqual([given(6, 10), given(5, 10), given(0, 10)], [0, 10, 10]);
  assert.deepEqual([given(31, 40), given(30, 40), given(20, 40), given(0, Infinity)], [0, 10, 20, 20]);
  assert.deepEqual([given(3, 3), given(2, 3), given(1, 3), given(1, 2)], [0, 0, 3, 2]);
  assert.deepEqual(nextTurns([...working(9), ...later.slice(0, 1)], 10), ['0']);
  assert.deepEqual(nextTurns(working(3), 8), []);
});

test('who has waited too long goes on though nobody got through', () => {
  const all = [...rows('running', 'running', 'running', 'running'), ...rows('waiting later', 'blocked later')];
  assert.deepEqual(nextTurns(all, 4), []);
  assert.deepEqual(nextTurns(all, 4, true), ['0', '1']);
});
