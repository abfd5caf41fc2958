import { effectiveInstance } from '../../workflows/domain/batch/effective.ts';
import type {
  BatchSpec,
  InstanceOverrides,
  InstanceRecord,
  NetworkRecord,
  Placement,
} from '../../workflows/domain/batch/records.ts';
import type { Choice } from './choice.ts';
import { lastChoices, reasonOf, type Chosen, type PlacementReason } from './chosen.ts';
import { PlacementError } from './placement-error.ts';
import { ProgramError } from './program/program-error.ts';
import { programs } from './program/programs.ts';
import type { LogLine } from './program/protocol.ts';
import { chooseByRules } from './rules.ts';
import { chooseByNetwork, networksOf, type PlacedNetwork } from './source-networks.ts';

export { PlacementError } from './placement-error.ts';
export type { PlacementReason } from './chosen.ts';

export interface PlacementQuestion {
  readonly spec: BatchSpec;
  readonly instance: InstanceRecord;
  readonly overrides?: InstanceOverrides;
  /** Those of the instance's source at least. */
  readonly networks: readonly NetworkRecord[];
  /** Whether the target is to run at the end; nothing here changes it. */
  readonly running: boolean;
  readonly now: Date;
}

export interface DeterminedPlacement {
  readonly placement: Placement;
  /** Why each field is as it is. */
  readonly reasons: readonly PlacementReason[];
  /** What the program said. */
  readonly log: readonly LogLine[];
}

/**
 * Where the batch puts an instance: its defaults and the networks' own placements, then its rules, then its program; the last one
 * that says something about a field wins. Changes nothing, so it is also what explains a placement. Fails with `PlacementError`.
 */
export async function determinePlacement(question: PlacementQuestion): Promise<DeterminedPlacement> {
  const { spec, instance, overrides = {}, now, running } = question;
  refuseUnplaceable(instance);
  const networks = networksOf(instance, question.networks, spec.network_overrides);
  const byDefault = chooseByDefault(spec, instance, networks);
  const byRules = chooseByRules(spec.placement_rules, { instance: effectiveInstance(instance, overrides), now });
  const program = await chooseByProgram(question, [...networks.values()]);
  const chosen = lastChoices([...byDefault, ...byRules, ...program.chosen]);
  return {
    placement: placementOf(
      chosen.map(({ choice }) => choice),
      running,
    ),
    reasons: [...chosen.map(reasonOf), { field: 'running', value: String(running), why: whyRunning(overrides) }],
    log: program.log,
  };
}

/** What no batch can place. */
function refuseUnplaceable({ name, disks, nics }: InstanceRecord): void {
  if (!disks.some(({ supported }) => supported))
    throw new PlacementError(`${name} has no disk that can be migrated: there is nothing to place`);
  const macs = nics.map(({ hardware_address }) => hardware_address.toLowerCase());
  const twice = macs.find((mac, i) => macs.indexOf(mac) < i);
  if (twice !== undefined)
    throw new PlacementError(
      `two NICs of ${name} have the address ${twice}: give one of them another one at the source`,
    );
}

function chooseByDefault(
  { defaults: { placement } }: BatchSpec,
  { disks, nics }: InstanceRecord,
  networks: ReadonlyMap<string, PlacedNetwork>,
): readonly Chosen[] {
  const why = 'default of the batch';
  return [
    { choice: { kind: 'target', name: placement.target }, why },
    { choice: { kind: 'project', name: placement.target_project }, why },
    ...disks
      .filter(({ supported }) => supported)
      .map(({ name: disk }): Chosen => ({ choice: { kind: 'pool', disk, pool: placement.storage_pool }, why })),
    ...nics.flatMap((nic) => {
      const network = networks.get(nic.uuid);
      return network === undefined ? [] : [chooseByNetwork(nic, network)];
    }),
  ];
}

async function chooseByProgram(
  { spec, instance, overrides = {} }: PlacementQuestion,
  networks: readonly PlacedNetwork[],
): Promise<{ readonly chosen: readonly Chosen[]; readonly log: readonly LogLine[] }> {
  const { placement_scriptlet: source, ...config } = spec.config;
  if (source.trim() === '') return { chosen: [], log: [] };
  const { name, include_expression, migration_windows, constraints, defaults } = spec;
  const batch = { name, include_expression, migration_windows, constraints, defaults, config };
  const args = [{ ...instance, overrides }, batch, networks.map(({ record }) => record)];
  try {
    const input = { placeable: instance, args: args.map((arg) => JSON.stringify(arg)) };
    const { choices, log } = await programs.run({ source, input });
    return { chosen: choices.map((choice) => ({ choice, why: 'placement program' })), log };
  } catch (err) {
    if (!(err instanceof ProgramError)) throw err;
    throw new PlacementError(`the placement program of batch ${name} failed for ${instance.name}: ${err.message}`, {
      cause: err,
    });
  }
}

function placementOf(choices: readonly Choice[], running: boolean): Placement {
  const nameOf = (kind: 'target' | 'project'): string =>
    choices.flatMap((choice) => (choice.kind === kind ? [choice.name] : [])).join('');
  return {
    target_name: nameOf('target'),
    target_project: nameOf('project'),
    storage_pools: Object.fromEntries(
      choices.flatMap((choice) => (choice.kind === 'pool' ? [[choice.disk, choice.pool]] : [])),
    ),
    networks: Object.fromEntries(
      choices.flatMap((choice) => (choice.kind === 'network' ? [[choice.mac, choice.network]] : [])),
    ),
    running,
  };
}

function whyRunning({ stopped_after_migration, started_after_migration }: InstanceOverrides): string {
  if (stopped_after_migration === true) return 'override stopped_after_migration';
  return started_after_migration === true ? 'override started_after_migration' : 'power of the source';
}
