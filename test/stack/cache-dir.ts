import { homedir } from 'node:os';
import { join } from 'node:path';

/** The cache outside the repository that all check-outs share. */
export function cacheDir(env: NodeJS.ProcessEnv = process.env): string {
  return join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'vmflow', 'tools');
}
