import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../../..');

export interface Page {
  /** From the root of the project. */
  readonly path: string;
  readonly text: string;
}

/** Every page that people read: READMEs at the root and in the folders. */
export const pages: readonly Page[] = globSync('**/README.md', {
  cwd: root,
  exclude: (name) => ['node_modules', 'dist', '.git'].includes(name),
})
  .sort()
  .map((path) => pageAt(path));

export function pageAt(path: string): Page {
  return { path, text: readFileSync(join(root, path), 'utf8') };
}

/** The code blocks of a language, without the indent of the list that they stand in. */
export function codeBlocks(text: string, language: string): string[] {
  const found = text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm);
  return [...found]
    .filter(([, , name]) => name === language)
    .map(([, indent = '', , body = '']) => body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));
}

export function prose(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
}

/** `code` in prose and tables. */
export function inlineCode(text: string): string[] {
  return [...prose(text).matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

/** Rows of all tables whose first header is this, as cells; without the header. */
export function tableRows(text: string, firstHeader: string): string[][] {
  const rows: string[][] = [];
  let isInside = false;
  for (const line of text.split('\n')) {
    const cells = /^\s*\|(.*)\|\s*$/
      .exec(line)?.[1]
      ?.split('|')
      .map((cell) => cell.trim());
    if (cells === undefined) isInside = false;
    else if (isInside && !/^[-: ]*$/.test(cells.join(''))) rows.push(cells);
    else if (cells[0] === firstHeader) isInside = true;
  }
  return rows;
}

/** What GitHub makes of headings, so that links can point at them. */
export function anchors(text: string): string[] {
  return [...prose(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Targets of links, images too. */
export function links(text: string): string[] {
  return [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
}
