const label = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const domain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const forKeys = 'letters, digits, "-", "_" and ".", at most 63, perhaps after a domain and "/"';
const forValues = 'empty, or letters, digits, "-", "_" and ".", at most 63';

/** What is wrong with a node selector, as a sentence; undefined: nothing. No node could ever carry such a label. */
export function problemWithNodeSelector(selector: Readonly<Record<string, string>> = {}): string | undefined {
  for (const [key, value] of Object.entries(selector)) {
    if (!isLabelKey(key))
      return `spec.migrate.nodeSelector: "${key}" is no name of a label; it begins and ends with a letter or digit: ${forKeys}`;
    if (!isLabelValue(value))
      return `spec.migrate.nodeSelector: "${value}" is no value for the label "${key}"; it is ${forValues}`;
  }
  return undefined;
}

function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  const [prefix, name] = slash === -1 ? [undefined, key] : [key.slice(0, slash), key.slice(slash + 1)];
  if (name.length > 63 || !label.test(name)) return false;
  return prefix === undefined || (prefix.length <= 253 && domain.test(prefix));
}

function isLabelValue(value: string): boolean {
  return value === '' || (value.length <= 63 && label.test(value));
}
