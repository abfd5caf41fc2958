import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

/** Writes the configuration of a rig with other sections for its bridge; answers the path. */
export async function writeBridgeConfig(
  { dir, configPath }: { readonly dir: string; readonly configPath: string },
  sections: object,
): Promise<string> {
  const path = join(dir, 'bridge.yaml');
  const config = parse(await readFile(configPath, 'utf8')) as object;
  await writeFile(path, stringify({ ...config, ...sections }));
  return path;
}
