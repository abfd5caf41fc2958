import type { Command } from 'commander';
import { addVerb, type Run } from './command.ts';

/** `vmflow version`: this program, the SDK, the server, and the workers on the queue. */
export function registerVersion(program: Command, run: Run): void {
  addVerb(program, 'version', {
    summary: 'versions of the command line, the SDK, the server and the workers seen on the queue',
    examples: ['vmflow version', 'vmflow version -o json'],
    prints: ['Version'],
    exits: ['ok'],
    notes: 'A server that is not reachable is no error here.',
  }).action(run(async () => (await import('../version.ts')).showVersion));
}
