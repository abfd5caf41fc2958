import { posix } from 'node:path';
import { bool, string, texts } from '../type.ts';
import { textOf, type Value, type ValueMap } from '../value.ts';
import type { Meter } from '../meter.ts';
import { fixed, type FunctionRule } from './function-rule.ts';

/** Functions that know what the inventory of a source looks like. */
export const inventoryFunctions: Readonly<Record<string, FunctionRule>> = {
  path_base: fixed('path_base(path)', [string], string, ([path], meter) => {
    meter.chargeText(textOf(path).length);
    return lastPart(textOf(path));
  }),
  path_dir: fixed('path_dir(path)', [string], string, ([path], meter) => {
    meter.chargeText(textOf(path).length);
    return folderOf(textOf(path));
  }),
  has_tag: tagFunction('has_tag(category, tag)', (tag, wanted) => tag === wanted),
  matches_tag: tagFunction('matches_tag(category, text)', (tag, wanted) => tag.includes(wanted)),
};

/** `.` of an empty path, `/` of the root. */
function lastPart(path: string): string {
  if (path === '') return '.';
  return posix.basename(path) || '/';
}

/** What is in front of the last slash, so that of `/a/b/` is `/a/b`. */
function folderOf(path: string): string {
  const folder = posix.normalize(path.slice(0, path.lastIndexOf('/') + 1));
  return folder.length > 1 && folder.endsWith('/') ? folder.slice(0, -1) : folder;
}

/** Looks at the tags one by one: those of one category, or of all with `*`. */
function tagFunction(usage: string, holds: (tag: string, wanted: string) => boolean): FunctionRule {
  const apply = ([config, category, wanted]: readonly Value[], meter: Meter): boolean => {
    const isMeant = (key: string): boolean =>
      category === '*' ? key.startsWith('tag.') : key === `tag.${textOf(category)}`;
    const entries = Object.entries(config as ValueMap);
    meter.charge(entries.length);
    return entries.some(([key, tags]) => {
      if (!isMeant(key)) return false;
      const text = textOf(tags);
      meter.chargeSearch(text.length, textOf(wanted).length);
      return text.split(',').some((tag) => holds(tag, textOf(wanted)));
    });
  };
  return { ...fixed(usage, [texts, string, string], bool, apply), reads: 'config' };
}
