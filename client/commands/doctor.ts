import type { Command } from 'commander';
import { addVerb, type Run } from './command.ts';

/** `vmflow doctor`: everything that must be there, in one table with remedies. */
export function registerDoctor(program: Command, run: Run): void {
  addVerb(program, 'doctor', {
    summary: 'check Temporal, workers and endpoints; says what to do',
    examples: ['vmflow doctor', 'vmflow doctor -o json | jq ".items[] | select(.ok | not)"'],
    prints: ['DoctorReport'],
    exits: ['ok', 'notFound', 'denied', 'refused', 'notAcknowledged', 'unreachable'],
    notes: 'The exit code is that of the first check that fails; later ones usually fail because of it.',
  }).action(run(async () => (await import('../doctor/doctor.ts')).doctor));
}
