import type { Command } from 'commander';
import { addNoun, addVerb, type Run } from './command.ts';

/** `vmflow config …`: where the command line connects to, and why there. */
export function registerConfig(program: Command, run: Run): void {
  const config = addNoun(program, 'config', undefined, 'where this command line connects to');
  addVerb(config, 'view', {
    summary: 'every setting with its value and where it comes from',
    examples: ['vmflow config view', 'vmflow config view --profile prod -o json'],
    prints: ['Configuration'],
    exits: ['ok', 'usage'],
    notes: 'Order: flag, environment, file, default. Secrets are shown as set or not set.',
  }).action(run(async () => (await import('../config/show.ts')).viewConfig));
  addVerb(config, 'path', {
    summary: "path of Temporal's profile file",
    examples: ['vmflow config path'],
    prints: ['ConfigurationPath'],
    exits: ['ok', 'notFound'],
  }).action(run(async () => (await import('../config/show.ts')).configPath));
  addVerb(config, 'check', {
    summary: 'read the settings strictly and connect',
    examples: ['vmflow config check'],
    prints: ['ConfigurationCheck'],
    exits: ['ok', 'usage', 'notFound', 'denied', 'unreachable'],
  }).action(run(async () => (await import('../config/show.ts')).checkConfig));
}
