import type { Command } from 'commander';
import { addNoun, addVerb, type Run } from './command.ts';

/** `vmflow endpoint …`: the far sides that the workers are configured for. */
export function registerEndpoint(program: Command, run: Run): void {
  const endpoint = addNoun(program, 'endpoint', 'endpoints', 'far sides of the workers: reachable, trusted, allowed?');
  addVerb(endpoint, 'list', {
    summary: "endpoints in the workers' vmflow.yaml",
    examples: ['vmflow endpoint list'],
    prints: ['EndpointList'],
    exits: ['ok', 'notAcknowledged', 'unreachable'],
  }).action(run(async () => (await import('../endpoint/endpoint.ts')).listEndpoints));
  addVerb(endpoint, 'check [name]', {
    summary: 'log in from a worker and look at certificate, version and privileges',
    examples: ['vmflow endpoint check', 'vmflow endpoint check vc1 -o json'],
    prints: ['EndpointCheckList'],
    exits: ['ok', 'notFound', 'denied', 'refused', 'notAcknowledged', 'unreachable', 'partly'],
    notes: 'Shows the fingerprint of a certificate that is not trusted.',
  }).action(run(async () => (await import('../endpoint/endpoint.ts')).checkEndpoints));
}
