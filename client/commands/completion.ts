import type { Command } from 'commander';
import { addVerb, type Run } from './command.ts';

/** `vmflow completion SHELL`, and the hidden `complete` that the scripts call. */
export function registerCompletion(program: Command, run: Run): void {
  addVerb(program, 'completion <shell>', {
    summary: 'completion script for bash, zsh or fish',
    examples: ['source <(vmflow completion bash)', 'vmflow completion fish | source'],
    prints: [],
    exits: ['ok', 'usage'],
    notes: 'The script for bash needs the package bash-completion.',
  }).action(run(async () => (await import('../completion.ts')).printScript));
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(run(async () => (await import('../completion.ts')).completeWords(program)));
}
