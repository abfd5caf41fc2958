import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { tools } from '../stack/tools.ts';

export type ToolName = keyof typeof tools;

export type ReadSource = (file: string) => Promise<string>;

/** Relative imports of code; `import type` is erased and starts nothing. */
const codeImport = /^(?:import|export)\s+(?!type\s)(?:[^'"]*?\sfrom\s+)?['"](\.[^'"]+)['"]/gm;
const toolUse = /\bfindTool\(tools\.(\w+)\)/g;

/**
 * The tools that a test file can start: those that it, or a file that it imports, asks for in so many words (`findTool` of a
 * named entry of the table). Nobody who runs one test waits for the build of a part that it never starts.
 */
export async function neededTools(
  file: string,
  read: ReadSource = (path) => readFile(path, 'utf8'),
): Promise<ReadonlySet<ToolName>> {
  const found = new Set<ToolName>();
  const seen = new Set<string>();
  const visit = async (path: string): Promise<void> => {
    if (seen.has(path)) return;
    seen.add(path);
    const text = await read(path);
    for (const [, name = ''] of text.matchAll(toolUse)) found.add(name as ToolName);
    for (const [, target = ''] of text.matchAll(codeImport)) await visit(join(dirname(path), target));
  };
  await visit(file);
  return found;
}
