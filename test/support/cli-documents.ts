import assert from 'node:assert/strict';
import { recordSchema } from '../../client/output/record-schema.ts';
import { errorSchema, jsonSchema, outputKinds, outputSchema, type PrintedKind } from '../../client/output/schemas.ts';

/** Their standard output is no document, whatever `-o` says: a script for the shell, words for it, a schema. */
const withoutDocuments = ['completion', 'complete', 'schema'];

/**
 * Holds what a command has printed with `-o json` or `-o jsonl` against the published schemas, its errors too. Answers the kinds of
 * its documents; the lines of a list with `-o jsonl` are items, which have none.
 */
export function publishedKinds(
  argv: readonly string[],
  { stdout, stderr }: { readonly stdout: string; readonly stderr: string },
): readonly PrintedKind[] {
  const command = argv.join(' ');
  const format = formatIn(command);
  if (withoutDocuments.some((name) => argv.includes(name)) || stdout.startsWith('Usage: ')) return [];
  if (argv[0] === 'history') return linesOf(stdout).map((line) => kindOfRecord(JSON.parse(line), command));
  if (format === undefined) return [];
  for (const line of linesOf(stderr).filter((text) => text.startsWith('{"error"')))
    holds(errorSchema.safeParse(JSON.parse(line)), command);
  const texts = format === 'jsonl' ? linesOf(stdout) : stdout === '' ? [] : [stdout];
  const documents = texts.map((text) => JSON.parse(text) as object);
  return documents
    .filter((document) => format === 'json' || 'apiVersion' in document)
    .map((document) => kindOfDocument(document, command));
}

/** Fails for what is no document of a published kind. @param what for the message */
export function kindOfDocument(document: object, what: string): PrintedKind {
  const kind = outputKinds.find((one) => 'kind' in document && one === document.kind);
  assert.ok(kind !== undefined, `${what}: of no published kind: ${JSON.stringify(document)}`);
  holds(outputSchema(kind).safeParse(document), what);
  return kind;
}

function kindOfRecord(record: unknown, what: string): PrintedKind {
  holds(recordSchema.safeParse(record), what);
  return 'HistoryRecord';
}

function holds(checked: { readonly success: boolean; readonly error?: Error | undefined }, what: string): void {
  assert.ok(checked.success, `${what}: not as published: ${checked.error?.message ?? ''}`);
}

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

function formatIn(command: string): 'json' | 'jsonl' | undefined {
  return /(?:^| )(?:-o ?|--output[ =])(jsonl?)(?: |$)/.exec(command)?.[1] as 'json' | 'jsonl' | undefined;
}

/** The part of a JSON schema that says which fields there are. */
interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  /** Any name will do. */
  readonly propertyNames?: object;
  readonly additionalProperties?: Shape;
}

/** What a document has and its schema doesn't name: paths as `CocoonSet.migration.turn`. */
export function unpublishedFields(document: object, kind: PrintedKind): readonly string[] {
  return unnamedIn(document, jsonSchema(kind), kind);
}

function unnamedIn(value: unknown, shape: Shape, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => unnamedIn(item, shape.items ?? {}, `${path}[]`));
  return Object.entries(value).flatMap(([name, inner]) => {
    const known =
      shape.properties?.[name] ?? (shape.propertyNames === undefined ? undefined : shape.additionalProperties);
    return known === undefined ? [`${path}.${name}`] : unnamedIn(inner, known, `${path}.${name}`);
  });
}
