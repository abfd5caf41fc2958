/**
 * Annotations on a VirtualMachine that say how its guest, its node and its migrations behave. A test, the demo and a person with
 * kubectl use the same ones, and they may be set and removed at any time. Values: `"true"`, or what is said here. Durations are
 * `250ms`, `3s`, `2m` or bare milliseconds.
 */
export const switches = {
  /** Nothing at all is done for this VM. */
  frozen: 'test/frozen',

  /** Whether it runs once it is created, whatever its run policy says about that: `"true"` or `"false"`. */
  startOnCreation: 'test/start-on-creation',
  /** A start waits for something: no instance is created. VM `Pending`. */
  blockInstanceCreation: 'test/block-instance-creation',
  /** Its instance finds no node. VM `Pending`. */
  unschedulable: 'test/unschedulable',
  /** The guest does nothing when it is asked to shut down: the grace period has to run out. */
  ignoreShutdown: 'test/ignore-shutdown',
  /** The guest is paused. VM `Pause`. */
  paused: 'test/paused',
  /** The guest shuts itself down, once: the annotation is taken away. */
  guestShutdown: 'test/guest-shutdown',
  /** The guest resets itself, once: the layer replaces the instance. The annotation is taken away. */
  guestReset: 'test/guest-reset',

  /** Condition `Migratable` is False and `Migrating` isn't `ReadyToMigrate`. */
  notMigratable: 'test/not-migratable',
  /** Condition `Migrating` has the reason `Pending` instead of `ReadyToMigrate`; `Migratable` stays True. */
  notReadyToMigrate: 'test/not-ready-to-migrate',
  /** Name of the phase that its migrations never leave. */
  migrationStuckAt: 'test/migration-stuck-at',
  /** Name of the phase in which its migrations fail. */
  migrationFailsAt: 'test/migration-fails-at',
  /** Percent of the memory that is shown as copied while the migration is in phase `Running`. */
  migrationProgress: 'test/migration-progress',
  /** Type of a condition that its unfinished migrations have with status False: `TargetScheduled`, `TargetReady`, `Converging`. */
  migrationTrouble: 'test/migration-trouble',
  /** A deleted migration never ends to abort. */
  stuckAbort: 'test/stuck-abort',
} as const;

export type SwitchName = keyof typeof switches;

/** Phases of a migration in their order; `Failed` can follow each. */
export const migrationPhases = [
  'Pending',
  'Scheduling',
  'Scheduled',
  'PreparingTarget',
  'TargetReady',
  'Running',
  'Succeeded',
] as const;
export type MigrationPhase = (typeof migrationPhases)[number];

/** How long things take, in milliseconds; all 0 by default. */
export interface Delays {
  /** From a request annotation to its entry. */
  readonly annotationDelay: number;
  /** From "wanted" to an instance. */
  readonly startDelay: number;
  /** From an instance to its phase `Running`. */
  readonly bootDelay: number;
  /** How long the guest takes to shut down when it is asked to. The grace period may cut it short. */
  readonly guestShutdownDelay: number;
  /** How long a migration is aborted once its target is scheduled. */
  readonly abortDelay: number;
  /** How long a migration stays in each phase. */
  readonly migration: Readonly<Partial<Record<MigrationPhase, number>>>;
}

/** The same per VM. Win over the delays of the layer. */
export const delayAnnotations = {
  annotationDelay: 'test/annotation-delay',
  startDelay: 'test/start-delay',
  bootDelay: 'test/boot-delay',
  guestShutdownDelay: 'test/guest-shutdown-delay',
  abortDelay: 'test/abort-delay',
  /** One duration for every phase, or some by name: `Scheduling=2s,Running=30s`. */
  migration: 'test/migration-delay',
} as const satisfies Record<keyof Delays, string>;
