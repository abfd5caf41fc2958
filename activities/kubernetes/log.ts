/** What the cluster client logs with; a pino logger fits. Fields and messages hold no tokens. */
export interface ClusterLog {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export const silent: ClusterLog = { debug: () => undefined, warn: () => undefined };
