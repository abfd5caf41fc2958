import { DateTime, FixedOffsetZone, IANAZone } from 'luxon';

/** A moment that somebody has written down. */
export interface ZonedTime {
  /** ISO 8601 in UTC. */
  readonly utc: string;
  /** In which it was written: a name of the time zone database, `UTC`, or an offset such as `UTC+2`. */
  readonly zone: string;
}

export type ZonedTimeResult = ZonedTime | { readonly problem: string };

const rfc3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|z|[+-]\d\d:\d\d)$/;
const local =
  /^(\d{4}-\d\d-\d\d)[T ]((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)(?: ([+-]\d\d:\d\d))? +([A-Za-z][\w+/-]*)$/;

const forms = 'write 2026-03-28T22:00:00+01:00, or 2026-03-28 22:00 Europe/Berlin';

/**
 * RFC 3339, or a local time with its zone; `2026-10-25 02:30 +01:00 Europe/Berlin` where the local time alone would be two
 * moments. A local time that the clocks of its zone skip, or show twice, is a problem, and so is one without a zone.
 */
export function parseZonedTime(text: string): ZonedTimeResult {
  const absolute = rfc3339.exec(text);
  if (absolute !== null) {
    const [, day = '', time = '', offset = ''] = absolute;
    return atOffset(text, `${day}T${time}`, offset.toUpperCase());
  }
  const zoned = local.exec(text);
  if (zoned === null) return { problem: `"${text}" is no time with a zone: ${forms}` };
  const [, day = '', time = '', offset, zone = ''] = zoned;
  return inZone(text, `${day}T${time}`, zone, offset);
}

function atOffset(text: string, clock: string, offset: string): ZonedTimeResult {
  const at = DateTime.fromISO(`${clock}${offset}`, { setZone: true });
  return at.isValid ? { utc: utcOf(at), zone: at.zoneName } : noSuchDay(text, at.invalidExplanation);
}

function inZone(text: string, clock: string, zone: string, offset: string | undefined): ZonedTimeResult {
  if (!IANAZone.isValidZone(zone))
    return { problem: `"${text}": there is no time zone "${zone}": names are such as Europe/Berlin or UTC` };
  const at = DateTime.fromISO(clock, { zone });
  if (!at.isValid) return noSuchDay(text, at.invalidExplanation);
  if (!at.toISO({ includeOffset: false }).startsWith(clock))
    return { problem: `"${text}": the clocks of ${zone} are put forward over that time, it does not exist` };
  const moments = at.getPossibleOffsets();
  if (offset !== undefined) return withOffset(text, moments, zone, offset);
  if (moments.length === 1) return { utc: utcOf(at), zone };
  const spelled = moments.map((moment) => `${clock.replace('T', ' ')} ${moment.toFormat('ZZ')} ${zone}`).join(' or ');
  return { problem: `"${text}": the clocks of ${zone} show that time twice: write ${spelled}` };
}

function withOffset(text: string, moments: readonly DateTime<true>[], zone: string, offset: string): ZonedTimeResult {
  const wanted = FixedOffsetZone.parseSpecifier(`UTC${offset}`);
  const found = moments.find((moment) => moment.offset === wanted.offset(0));
  if (found !== undefined) return { utc: utcOf(found), zone };
  const real = moments.map((moment) => moment.toFormat('ZZ')).join(' or ');
  return { problem: `"${text}": ${zone} is at ${real} then, not at ${offset}` };
}

function noSuchDay(text: string, why: string | null): ZonedTimeResult {
  return { problem: `"${text}" is no time: ${why ?? forms}` };
}

function utcOf(at: DateTime<true>): string {
  return at.toUTC().toISO();
}

/** `Sat 2026-03-28 22:00 CET`, in the zone that it was written in. */
export function localText(time: ZonedTime): string {
  return inZoneOf(time).toFormat('ccc yyyy-MM-dd HH:mm ZZZZ');
}

/** When a window is: each time in the zone that it was written in. */
export function spanText({
  start,
  end,
  lockout,
}: {
  readonly start?: ZonedTime | undefined;
  readonly end?: ZonedTime | undefined;
  readonly lockout?: ZonedTime | undefined;
}): string {
  const late = lockout === undefined ? '' : `, nobody begins after ${inZoneOf(lockout).toFormat('HH:mm')}`;
  if (start === undefined) return end === undefined ? 'at any time' : `until ${localText(end)}${late}`;
  return end === undefined ? `from ${localText(start)}` : `${localSpan(start, end)}${late}`;
}

/** `Sat 2026-03-28 22:00–02:00 CET`: what both ends have in common is said once; an end within a day needs no date. */
function localSpan(start: ZonedTime, end: ZonedTime): string {
  const [from, to] = [inZoneOf(start), inZoneOf(end)];
  const isNear = to.diff(from).as('hours') < 24;
  const isSameZone = from.toFormat('ZZZZ') === to.toFormat('ZZZZ');
  const head = from.toFormat(isSameZone ? 'ccc yyyy-MM-dd HH:mm' : 'ccc yyyy-MM-dd HH:mm ZZZZ');
  return `${head}–${to.toFormat(isNear ? 'HH:mm ZZZZ' : 'ccc yyyy-MM-dd HH:mm ZZZZ')}`;
}

function inZoneOf({ utc, zone }: ZonedTime): DateTime {
  return DateTime.fromISO(utc, { zone, locale: 'en-GB' });
}
