import { nouns } from './nouns.ts';
import { processRuntime } from './process-runtime.ts';
import { run } from './program.ts';

process.exitCode = await run(process.argv.slice(2), nouns, processRuntime());
