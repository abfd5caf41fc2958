#!/usr/bin/env node
import { existsSync } from 'node:fs';

// A `dist` in a checkout is as old as its last build, and a `git pull` builds nothing: there the sources run. What is shipped has none.
const sources = new URL('../../client/main.ts', import.meta.url);
const isBuilt = import.meta.url.endsWith('/dist/client/cli.js');
await (isBuilt && existsSync(sources) ? import(sources.href) : import('./main.ts'));
