import type { Command } from 'commander';
import { addVerb, type Run } from './command.ts';

/** `vmflow schema [KIND]`: what scripts may rely on in `-o json`. */
export function registerSchema(program: Command, run: Run): void {
  addVerb(program, 'schema [kind]', {
    summary: 'JSON schema of what -o json prints',
    examples: ['vmflow schema', 'vmflow schema TemplateList > template-list.schema.json'],
    prints: [],
    exits: ['ok', 'usage'],
    notes: 'Without a kind: the list of kinds. Fields are only added, never renamed, inside one major version.',
  }).action(run(async () => (await import('../schema.ts')).printSchema));
}
