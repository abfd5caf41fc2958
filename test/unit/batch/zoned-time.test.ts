import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { localText, parseZonedTime, spanText, type ZonedTime } from '../../../activities/schemas/zoned-time.ts';

const moments: readonly (readonly [string, string, string])[] = [
  ['2026-03-28T22:00:00+01:00', '2026-03-28T21:00:00.000Z', 'UTC+1'],
  ['2026-03-28T21:00Z', '2026-03-28T21:00:00.000Z', 'UTC'],
  ['2026-03-28 21:00:30z', '2026-03-28T21:00:30.000Z', 'UTC'],
  ['2026-03-28 22:00 Europe/Berlin', '2026-03-28T21:00:00.000Z', 'Europe/Berlin'],
  ['2026-03-29 01:30 Europe/Berlin', '2026-03-29T00:30:00.000Z', 'Europe/Berlin'],
  ['2026-03-29T03:00 Europe/Berlin', '2026-03-29T01:00:00.000Z', 'Europe/Berlin'],
  ['2026-07-01 12:00:15 America/New_York', '2026-07-01T16:00:15.000Z', 'America/New_York'],
  ['2026-07-01 12:00 UTC', '2026-07-01T12:00:00.000Z', 'UTC'],
  ['2026-10-25 02:30 +02:00 Europe/Berlin', '2026-10-25T00:30:00.000Z', 'Europe/Berlin'],
  ['2026-10-25 02:30 +01:00 Europe/Berlin', '2026-10-25T01:30:00.000Z', 'Europe/Berlin'],
  ['2026-10-25T02:30:00+01:00', '2026-10-25T01:30:00.000Z', 'UTC+1'],
];
for (const [text, utc, zone] of moments)
  test(`${text} is ${utc}`, () => assert.deepEqual(parseZonedTime(text), { utc, zone }));

const problems: readonly (readonly [string, RegExp])[] = [
  ['2026-03-28 22:00', /no time with a zone/],
  ['2026-03-28T22:00:00', /no time with a zone/],
  ['tomorrow', /no time with a zone/],
  ['22:00 Europe/Berlin', /no time with a zone/],
  ['2026-03-29 02:30 Europe/Berlin', /put forward over that time/],
  ['2026-03-29 02:30 +01:00 Europe/Berlin', /put forward over that time/],
  [
    '2026-10-25 02:30 Europe/Berlin',
    /twice: write 2026-10-25 02:30 \+02:00 Europe\/Berlin or 2026-10-25 02:30 \+01:00 Europe\/Berlin/,
  ],
  ['2026-10-25 02:30 +03:00 Europe/Berlin', /is at \+02:00 or \+01:00 then, not at \+03:00/],
  ['2026-07-01 12:00 +01:00 Europe/Berlin', /is at \+02:00 then/],
  ['2026-03-28 22:00 CEST', /no time zone "CEST"/],
  ['2026-02-30 22:00 Europe/Berlin', /is no time/],
  ['2026-02-30T22:00:00Z', /is no time/],
  ['2026-02-28 24:30 Europe/Berlin', /no time with a zone/],
  ['2026-02-28T25:00:00Z', /is no time/],
];
for (const [text, message] of problems)
  test(`case/89: ${text} is refused`, () => {
    const found = parseZonedTime(text);
    assert.match('problem' in found ? found.problem : assert.fail(found.utc), message);
  });

const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'UTC'];

test('every moment is found again from its local time with offset and zone', () => {
  const minutes = fc.integer({ min: 0, max: 40 * 365 * 24 * 60 });
  fc.assert(
    fc.property(minutes, fc.constantFrom(...zones), (minute, zone) => {
      const utc = new Date(Date.UTC(2000, 0, 1) + minute * 60_000).toISOString();
      const parts = new Intl.DateTimeFormat('sv-SE', {
        ...{ timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' },
        ...{ hourCycle: 'h23', timeZoneName: 'longOffset' },
      }).format(new Date(utc));
      const [, clock = '', offset = ''] = /^(\S+ \S+) GMT(.*)$/.exec(parts.replace('\u2212', '-')) ?? [];
      const text = `${clock} ${offset === '' ? '+00:00' : offset} ${zone}`;
      assert.deepEqual(parseZonedTime(text), { utc, zone });
    }),
  );
});

test('a time is shown in the zone it was written in', () => {
  assert.equal(localText({ utc: '2026-03-28T21:00:00.000Z', zone: 'Europe/Berlin' }), 'Sat 2026-03-28 22:00 CET');
});

test('a span says once what both ends have in common', () => {
  const at = (utc: string, zone = 'Europe/Berlin') => ({ utc, zone });
  const spanOf = (start: ZonedTime, end: ZonedTime): string => spanText({ start, end });
  assert.equal(
    spanOf(at('2026-02-28T21:00:00.000Z'), at('2026-03-01T01:00:00.000Z')),
    'Sat 2026-02-28 22:00–02:00 CET',
  );
  assert.equal(
    spanOf(at('2026-03-28T21:00:00.000Z'), at('2026-03-29T02:00:00.000Z')),
    'Sat 2026-03-28 22:00 CET–04:00 CEST',
  );
  assert.equal(
    spanOf(at('2026-02-27T21:00:00.000Z'), at('2026-03-01T01:00:00.000Z')),
    'Fri 2026-02-27 22:00–Sun 2026-03-01 02:00 CET',
  );
  const end = at('2026-03-01T01:00:00.000Z');
  assert.equal(
    spanText({ end, lockout: at('2026-03-01T00:30:00.000Z') }),
    'until Sun 2026-03-01 02:00 CET, nobody begins after 01:30',
  );
  assert.equal(spanText({ start: end }), 'from Sun 2026-03-01 02:00 CET');
  assert.equal(spanText({}), 'at any time');
  assert.equal(spanOf(end, { utc: '2026-03-01T02:00:00.000Z', zone: 'UTC' }), 'Sun 2026-03-01 02:00 CET–02:00 UTC');
});
