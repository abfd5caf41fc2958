/** What the client logs with; a pino logger fits. Fields and messages hold no secrets. */
export interface VSphereLog {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export const silent: VSphereLog = { debug: () => undefined, warn: () => undefined };
