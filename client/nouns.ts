import { registerAdmin } from './commands/admin.ts';
import { registerBatch } from './commands/batch.ts';
import type { Register } from './commands/command.ts';
import { registerCompletion } from './commands/completion.ts';
import { registerConfig } from './commands/config.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerEndpoint } from './commands/endpoint.ts';
import { registerHibernate } from './commands/hibernate.ts';
import { registerHistory } from './commands/history.ts';
import { registerMigrate } from './commands/migrate.ts';
import { registerNode } from './commands/node.ts';
import { registerOp } from './commands/op.ts';
import { registerOpen } from './commands/open.ts';
import { registerOrphans } from './commands/orphans.ts';
import { registerPower } from './commands/power.ts';
import { registerQueue } from './commands/queue.ts';
import { registerSchema } from './commands/schema.ts';
import { registerSet } from './commands/set.ts';
import { registerSource } from './commands/source.ts';
import { registerTarget } from './commands/target.ts';
import { registerTemplate } from './commands/template.ts';
import { registerVersion } from './commands/version.ts';
import { registerVm } from './commands/vm.ts';

/** The command tree: one line per noun, in the order of `--help`. */
export const nouns: readonly Register[] = [
  registerPower,
  registerVm,
  registerOp,
  registerSet,
  registerMigrate,
  registerHibernate,
  registerNode,
  registerTemplate,
  registerBatch,
  registerQueue,
  registerSource,
  registerTarget,
  registerOrphans,
  registerHistory,
  registerEndpoint,
  registerDoctor,
  registerOpen,
  registerConfig,
  registerAdmin,
  registerCompletion,
  registerSchema,
  registerVersion,
];
