import type { OutputFormat } from '../global-flags.ts';
import { usageError } from '../errors.ts';
import type { OutputKind } from './schemas.ts';
import { renderTable, type Column } from './table.ts';

/** Version of the documents that `-o json` and `-o yaml` print. */
export const apiVersion = 'vmflow.dev/v1';

/** One result in every form a person or a script may ask for. */
export interface Result<Row> {
  readonly kind: OutputKind;
  /** What `-o json` prints besides `apiVersion` and `kind`. */
  readonly document: object;
  /** For people: a table of rows, or text for one object. */
  readonly rows?: readonly Row[];
  readonly columns?: readonly Column<Row>[];
  readonly text?: string;
  /** What `-o name` prints, one per line. */
  readonly names: readonly string[];
  /** What `-q` prints, one per line. */
  readonly ids: readonly string[];
}

export interface FormatOptions {
  readonly output: OutputFormat;
  readonly quiet: boolean;
  readonly headers: boolean;
  readonly columns?: string | undefined;
  readonly width?: number | undefined;
  readonly paintHeader?: (text: string) => string;
}

/** The result as text. `yaml` is loaded only when it is asked for. */
export async function formatResult<Row>(result: Result<Row>, options: FormatOptions): Promise<string> {
  if (options.quiet && (options.output === 'table' || options.output === 'wide')) return lines(result.ids);
  const document = { apiVersion, kind: result.kind, ...result.document };
  switch (options.output) {
    case 'json':
      return `${JSON.stringify(document, undefined, 2)}\n`;
    case 'jsonl':
      return jsonLines(document);
    case 'yaml':
      return (await import('yaml')).stringify(document, { aliasDuplicateObjects: false });
    case 'name':
      return lines(result.names);
    case 'table':
    case 'wide':
      return result.columns === undefined ? (result.text ?? '') : asTable(result, result.columns, options);
  }
}

/** A list gives one line per item, everything else one line. */
function jsonLines(document: object): string {
  const items = 'items' in document && Array.isArray(document.items) ? (document.items as unknown[]) : [document];
  return lines(items.map((item) => JSON.stringify(item)));
}

function asTable<Row>(result: Result<Row>, all: readonly Column<Row>[], options: FormatOptions): string {
  const rows = result.rows ?? [];
  if (rows.length === 0 && options.columns === undefined) return '';
  return renderTable(rows, chooseColumns(all, options), {
    headers: options.headers,
    ...(options.width === undefined ? {} : { width: options.width }),
    ...(options.paintHeader === undefined ? {} : { paintHeader: options.paintHeader }),
  });
}

function chooseColumns<Row>(all: readonly Column<Row>[], options: FormatOptions): readonly Column<Row>[] {
  if (options.columns === undefined) return all.filter((column) => options.output === 'wide' || column.wide !== true);
  return options.columns.split(',').map((name) => {
    const column = all.find((candidate) => candidate.header === name.trim().toUpperCase());
    if (column === undefined) {
      throw usageError(`--columns: there is no column "${name}"`, `columns: ${all.map((c) => c.header).join(',')}`);
    }
    return column;
  });
}

function lines(values: readonly string[]): string {
  return values.map((value) => `${value}\n`).join('');
}
