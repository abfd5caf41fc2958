/** An object of an answer as decoded. What the schema doesn't describe arrives as text. */
export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** Empty where there is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** undefined where there is none. */
export function numberOf(value: unknown): number | undefined {
  const text = textOf(value).trim();
  const number = Number(text);
  return text === '' || !Number.isFinite(number) ? undefined : number;
}

export const isTrue = (value: unknown): boolean => value === true || value === 'true';

/** Repeated elements arrive as a list, and a single one of an undescribed type alone. */
export function listOf(value: unknown): readonly Fields[] {
  return (Array.isArray(value) ? (value as readonly unknown[]) : [value]).filter(isFields);
}

/** The name of its type, empty where it is the declared one. */
export const typeOf = (value: Fields): string => textOf(value['_type']);
