import { delayAnnotations, migrationPhases, switches, type Delays, type SwitchName } from './switches.ts';

/** How one VM behaves, from its annotations and the delays of the layer. */
export interface Behaviour {
  readonly delays: Delays;
  /** True where the switch is `"true"`. */
  is(name: SwitchName): boolean;
  /** The switch's value; undefined where it isn't set. */
  value(name: SwitchName): string | undefined;
}

export const noDelays: Delays = {
  annotationDelay: 0,
  startDelay: 0,
  bootDelay: 0,
  guestShutdownDelay: 0,
  abortDelay: 0,
  migration: {},
};

const known = new Set<string>([...Object.values(switches), ...Object.values(delayAnnotations)]);
const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, '': 1 };

/** Fails with what is wrong with an annotation: a switch with a typing error would be a test of nothing. */
export function behaviourOf(annotations: Readonly<Record<string, string>>, defaults: Delays): Behaviour {
  const foreign = Object.keys(annotations).find((key) => key.startsWith('test/') && !known.has(key));
  if (foreign !== undefined)
    throw new Error(`The VM layer has no switch ${foreign}. It knows: ${[...known].sort().join(', ')}.`);
  const value = (name: SwitchName): string | undefined => annotations[switches[name]];
  for (const name of ['migrationStuckAt', 'migrationFailsAt'] as const) expectPhase(switches[name], value(name));
  return { delays: delaysIn(annotations, defaults), value, is: (name) => value(name) === 'true' };
}

function delaysIn(annotations: Readonly<Record<string, string>>, defaults: Delays): Delays {
  const single = (name: Exclude<keyof Delays, 'migration'>): number => {
    const text = annotations[delayAnnotations[name]];
    return text === undefined ? defaults[name] : parseDuration(text, delayAnnotations[name]);
  };
  const migration = annotations[delayAnnotations.migration];
  return {
    annotationDelay: single('annotationDelay'),
    startDelay: single('startDelay'),
    bootDelay: single('bootDelay'),
    guestShutdownDelay: single('guestShutdownDelay'),
    abortDelay: single('abortDelay'),
    migration: migration === undefined ? defaults.migration : parsePhaseDelays(migration, delayAnnotations.migration),
  };
}

/** @param where for the error, e.g. the name of the annotation */
export function parseDuration(text: string, where: string): number {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text.trim()) ?? [];
  if (digits === undefined) throw new Error(`${where}: "${text}" is no duration: write 250ms, 3s or 2m.`);
  return Number(digits) * (units[unit] ?? 1);
}

/** `3s` for every phase but the last, or `Scheduling=2s,Running=30s`. */
export function parsePhaseDelays(text: string, where: string): Delays['migration'] {
  if (!text.includes('=')) {
    const ms = parseDuration(text, where);
    return Object.fromEntries(migrationPhases.map((phase) => [phase, ms]));
  }
  return Object.fromEntries(
    text.split(',').map((part) => {
      const [phase = '', duration = ''] = part.split('=').map((word) => word.trim());
      expectPhase(where, phase);
      return [phase, parseDuration(duration, where)];
    }),
  );
}

function expectPhase(where: string, phase: string | undefined): void {
  if (phase === undefined || migrationPhases.some((name) => name === phase)) return;
  throw new Error(`${where}: "${phase}" is no phase of a migration. They are: ${migrationPhases.join(', ')}.`);
}
