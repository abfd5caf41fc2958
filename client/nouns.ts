import { registerAdmin } from './commands/admin.ts';
import type { Register } from './commands/command.ts';
import { registerCompletion } from './commands/completion.ts';
import { registerConfig } from './commands/config.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerEndpoint } from './commands/endpoint.ts';
import { registerOpen } from './commands/open.ts';
import { registerSchema } from './commands/schema.ts';
import { registerTemplate } from './commands/template.ts';
import { registerVersion } from './commands/version.ts';

/** The command tree: one line per noun, in the order of `--help`. */
export const nouns: readonly Register[] = [
  registerTemplate,
  registerEndpoint,
  registerDoctor,
  registerOpen,
  registerConfig,
  registerAdmin,
  registerCompletion,
  registerSchema,
  registerVersion,
];
