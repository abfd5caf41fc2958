/** Whether a message has the shape of what it should be: anybody can start a workflow or send an update with free-form JSON. */

/** True for a value as it should be. */
export type Rule = (value: unknown) => boolean;
export type Rules = Readonly<Record<string, Rule>>;

export const isText: Rule = (value) => typeof value === 'string';

/** Text with something in it, as long as a name or path may be. */
export const isLine: Rule = (value) => typeof value === 'string' && value.trim() !== '' && value.length <= 400;

export function optional(rule: Rule): Rule {
  return (value) => value === undefined || rule(value);
}

export function object(rules: Rules): Rule {
  return (value) => shapeProblem(value, rules) === undefined;
}

/** What is wrong with a message, by its first field that isn't as it should be; undefined when nothing is. */
export function shapeProblem(value: unknown, rules: Rules): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'it is no object';
  const fields = value as Readonly<Record<string, unknown>>;
  const wrong = Object.entries(rules).find(([name, rule]) => !rule(fields[name]));
  return wrong === undefined ? undefined : `"${wrong[0]}" is missing or not as it should be`;
}
