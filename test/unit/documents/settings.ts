import { z } from 'zod';

export interface SettingFacts {
  /** `vcenters.NAME.tls.sha256`, `sources.NAME.headers[].name`. */
  readonly path: string;
  /** As it would be written; absent: none. */
  readonly fallback?: string;
}

/** What is looked at of a JSON schema. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly default?: unknown;
}

/** Every key that holds a value in a file with this schema, with its default. */
export function settings(schemaOfFile: z.ZodType): SettingFacts[] {
  const found = new Map<string, SettingFacts>();
  const visit = (schema: Schema, path: string): void => {
    const { anyOf = [], oneOf = [], allOf = [], items, additionalProperties: entries } = schema;
    const variants = [...anyOf, ...oneOf, ...allOf];
    const properties = Object.entries(schema.properties ?? {});
    for (const [name, property] of properties) visit(property, path === '' ? name : `${path}.${name}`);
    for (const variant of variants) visit(variant, path);
    if (typeof entries === 'object') visit(entries, `${path}.NAME`);
    if (items?.properties !== undefined) visit(items, `${path}[]`);
    const isLeaf = properties.length === 0 && variants.length === 0 && typeof entries !== 'object';
    if (!isLeaf || items?.properties !== undefined || path.endsWith('.mode')) return;
    const { default: fallback } = schema;
    found.set(path, { path, ...(fallback === undefined ? {} : { fallback: written(fallback) }) });
  };
  visit(z.toJSONSchema(schemaOfFile, { io: 'input', unrepresentable: 'any' }) as Schema, '');
  return [...found.values()];
}

function written(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'empty' : value;
  return Array.isArray(value) && value.length === 0 ? 'empty' : String(value);
}
