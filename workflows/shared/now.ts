/** Workflow time, ISO 8601 in UTC. */
export function now(): string {
  return new Date(Date.now()).toISOString();
}
