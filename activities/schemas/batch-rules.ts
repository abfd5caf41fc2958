import type { BatchSpec, NetworkPlacement } from '../../workflows/domain/batch/records.ts';
import { isDistributionOf, isVersionOf } from '../../workflows/domain/batch/os.ts';
import { windowsProblems } from '../../workflows/domain/batch/window-problems.ts';
import { byteLength } from '../../workflows/domain/text.ts';
import { parsePath, type SpecPath } from './spec-path.ts';

/** A mistake and the field that it is in. */
export interface Mistake {
  readonly path: SpecPath;
  readonly message: string;
}

/** A batch is carried from run to run of its workflow: more than this doesn't fit. Bytes of JSON. */
const longestSpec = 150_000;

/**
 * What the fields of a batch have to do with each other, and windows that are over. `previous`: the batch before; a window of it may
 * stay as it was. `now`: epoch milliseconds.
 */
export function mistakesIn(spec: BatchSpec, now: number, previous?: BatchSpec): Mistake[] {
  const before = { windows: previous?.migration_windows ?? [], assigned: [] };
  const ofWindows = windowsProblems(spec.migration_windows, now, before);
  return [
    ...ofWindows.map(({ path, message }) => ({ path: parsePath(path), message })),
    ...constraintMistakes(spec),
    ...networkMistakes(spec),
    ...intervalMistakes(spec),
    ...overrideMistakes(spec),
    ...(byteLength(JSON.stringify(spec)) > longestSpec
      ? [{ path: [], message: `the batch is larger than ${longestSpec / 1000} KB: make two of it` }]
      : []),
  ];
}

function constraintMistakes({ constraints }: BatchSpec): Mistake[] {
  const names = repeated(constraints, ({ name }) => name).map((place) => ({
    path: ['constraints', place, 'name'],
    message: 'another constraint of the batch has that name',
  }));
  const expressions = repeated(constraints, ({ include_expression }) => include_expression.trim()).map((place) => ({
    path: ['constraints', place, 'include_expression'],
    message: 'another constraint of the batch has that expression: only the last one would ever apply',
  }));
  return [...names, ...expressions];
}

function networkMistakes({ defaults, network_overrides, placement_rules }: BatchSpec): Mistake[] {
  const path = ['defaults', 'migration_network'];
  const twice = repeated(defaults.migration_network, ({ target, target_project }) => `${target}/${target_project}`);
  const ofRules = placement_rules.flatMap(({ set }, rule) =>
    (set.network ?? []).map((network, place) => ({
      path: ['placement_rules', rule, 'set', 'network', place],
      network: { ...network, nictype: network.nictype ?? 'managed' },
    })),
  );
  const ofOverrides = Object.entries(network_overrides).map(([key, network]) => ({
    path: ['network_overrides', key],
    network,
  }));
  const ofBatch = defaults.migration_network.map((network, place) => ({ path: [...path, place], network }));
  return [
    ...twice.map((place) => ({ path: [...path, place], message: 'another one is for the same target and project' })),
    ...[...ofBatch, ...ofRules, ...ofOverrides].flatMap(vlanMistake),
  ];
}

/** An override without a type may be for a network that has one with VLANs. */
function vlanMistake(one: { readonly path: SpecPath; readonly network: Partial<NetworkPlacement> }): Mistake[] {
  const { nictype, vlan_id = '' } = one.network;
  if (vlan_id === '' || nictype !== 'managed') return [];
  return [
    { path: [...one.path, 'vlan_id'], message: 'is only for bridged and physical: a managed network has its own' },
  ];
}

function intervalMistakes({ config }: BatchSpec): Mistake[] {
  if (config.final_background_sync_limit <= config.background_sync_interval) return [];
  const message = 'must not be longer than background_sync_interval';
  return [{ path: ['config', 'final_background_sync_limit'], message }];
}

function overrideMistakes({ overrides }: BatchSpec): Mistake[] {
  return Object.entries(overrides).flatMap(([uuid, given]): Mistake[] => {
    const at = (field: string, message: string): Mistake => ({ path: ['overrides', uuid, field], message });
    const { os_type, distribution, distribution_version, started_after_migration, stopped_after_migration } = given;
    const type = os_type ?? (distribution === 'freebsd' ? 'bsd' : 'linux');
    const isGuess = os_type === undefined && distribution === undefined;
    return [
      ...(started_after_migration === true && stopped_after_migration === true
        ? [at('stopped_after_migration', 'excludes started_after_migration')]
        : []),
      ...(os_type !== undefined && distribution !== undefined && !isDistributionOf(os_type, distribution)
        ? [at('distribution', `${distribution} is no system of type ${os_type}`)]
        : []),
      ...(!isGuess &&
      distribution_version !== undefined &&
      !isVersionOf({ os_type: type, distribution: distribution ?? 'other', distribution_version })
        ? [at('distribution_version', 'is no version of that system')]
        : []),
    ];
  });
}

/** Places of those whose key an earlier one has. */
function repeated<T>(items: readonly T[], key: (item: T) => string): number[] {
  const seen = new Set<string>();
  return items.flatMap((item, place) => {
    const isSeen = seen.has(key(item));
    seen.add(key(item));
    return isSeen ? [place] : [];
  });
}
