/**
 * Markdown as the Web UI renders it: no HTML, straight quotes become curly and `--` becomes a dash. Names and messages come
 * from outside, so they are escaped; what people copy goes into code.
 */

/** Text that means nothing to Markdown, on one line. */
export function plain(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\\`*<>[\]|]/g, '\\$&')
    .replaceAll(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
    .replaceAll('--', '\\-\\-');
}

/** A name or command within a line, shown as it is. */
export function code(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}

/** Lines to copy. */
export function codeBlock(lines: string, language = ''): string {
  return `\`\`\`${language}\n${lines}\n\`\`\``;
}

/** Lines under one another, without the bullets of a list. */
export function lines(rows: readonly string[]): string {
  return rows.join('  \n');
}

/** One after another; what follows must be no list, or it would be taken for one with this. */
export function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}

/** Cells are Markdown already. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
}

/** Paragraphs of a details pane; empty ones are left out. The pane is drawn some pixels too low: what it cuts is the rule. */
export function pane(parts: readonly string[]): string {
  return [...parts.filter((part) => part !== ''), '---'].join('\n\n');
}

/** An ISO time as people read it: `2026-03-01 12:34:56 UTC`. */
export function moment(iso: string): string {
  return iso.replace(/^([\d-]+)T([\d:]+)(?:\.\d+)?Z$/, '$1 $2 UTC');
}
