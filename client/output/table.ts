import { stripVTControlCharacters } from 'node:util';

/** One column: its header, how a row becomes a cell, and whether only `-o wide` shows it. */
export interface Column<Row> {
  readonly header: string;
  readonly cell: (row: Row) => string | undefined;
  readonly wide?: boolean;
  /** May be shortened to fit the terminal. Names never are. */
  readonly cut?: boolean;
}

export interface TableOptions {
  readonly headers: boolean;
  /** Columns of the terminal; absent when there is none: nothing is cut then. */
  readonly width?: number;
  readonly paintHeader?: (text: string) => string;
}

const gap = '  ';

/** A table without borders: upper-case headers, two spaces between, one line per row. */
export function renderTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], options: TableOptions): string {
  const cells = rows.map((row) => columns.map((column) => oneLine(column.cell(row) ?? '') || '-'));
  const headers = columns.map((column) => column.header);
  const measured = options.headers ? [headers, ...cells] : cells;
  const widths = fit(
    columns,
    columns.map((_, i) => Math.max(0, ...measured.map((line) => displayWidth(line[i] ?? '')))),
    options.width,
  );
  const body = cells.map((line) => layOut(line, widths));
  const head = layOut(headers, widths);
  const lines = options.headers ? [options.paintHeader?.(head) ?? head, ...body] : body;
  return lines.map((line) => `${line}\n`).join('');
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n]+\s*/g, ' ');
}

/** Takes the excess from the widest column that may be cut, until the line fits. */
function fit(columns: readonly Column<never>[], natural: readonly number[], width: number | undefined): number[] {
  const widths = [...natural];
  const total = (): number => widths.reduce((sum, w) => sum + w, 0) + gap.length * Math.max(0, widths.length - 1);
  while (width !== undefined && total() > width) {
    const candidates = columns.flatMap((column, i) => (column.cut === true && (widths[i] ?? 0) > 8 ? [i] : []));
    const widest = candidates.sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0];
    if (widest === undefined) break;
    widths[widest] = Math.max(8, (widths[widest] ?? 0) - (total() - width));
  }
  return widths;
}

function layOut(line: readonly string[], widths: readonly number[]): string {
  return line
    .map((cell, i) => pad(cut(cell, widths[i] ?? 0), widths[i] ?? 0))
    .join(gap)
    .trimEnd();
}

function cut(text: string, width: number): string {
  return displayWidth(text) <= width ? text : `${[...text].slice(0, Math.max(0, width - 1)).join('')}…`;
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

/** Columns a text takes in a terminal: East Asian wide characters take two, colour codes none. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const char of stripVTControlCharacters(text)) {
    if (/\p{Mark}/u.test(char)) continue;
    width += /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/.test(char)
      ? 2
      : 1;
  }
  return width;
}
