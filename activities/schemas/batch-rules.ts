import type { BatchSpec, MigrationWindow, NetworkPlacement } from '../../workflows/domain/batch/records.ts';
import { isDistributionOf, isVersionOf } from '../../workflows/domain/batch/os.ts';
import { ended, inTime, isInOrder, spanOf } from '../../workflows/domain/batch/windows.ts';
import { byteLength } from '../../workflows/domain/text.ts';
import type { SpecPath } from './spec-path.ts';

/** A mistake and the field that it is in. */
export interface Mistake {
  readonly path: SpecPath;
  readonly message: string;
}

/** A batch is carried from run to run of its workflow: more than this doesn't fit. Bytes of JSON. */
const longestSpec = 150_000;

/** What the fields of a batch have to do with each other. */
export function mistakesIn(spec: BatchSpec): Mistake[] {
  return [
    ...windowMistakes(spec.migration_windows),
    ...constraintMistakes(spec),
    ...networkMistakes(spec),
    ...intervalMistakes(spec),
    ...overrideMistakes(spec),
    ...(byteLength(JSON.stringify(spec)) > longestSpec
      ? [{ path: [], message: `the batch is larger than ${longestSpec / 1000} KB: make two of it` }]
      : []),
  ];
}

/** Windows that are over. One that was in the batch before, just so, may stay: its entries may still need it. */
export function pastWindows(spec: BatchSpec, now: number, previous?: BatchSpec): Mistake[] {
  const before = new Map((previous?.migration_windows ?? []).map((window) => [window.name, keyOf(window)]));
  return spec.migration_windows.flatMap((window, place) => {
    if (!ended(window, now) || before.get(window.name) === keyOf(window)) return [];
    return [
      { path: ['migration_windows', place, 'end'], message: `window "${window.name}" is over since ${window.end}` },
    ];
  });
}

function keyOf({ name, start = '', end = '', lockout = '', capacity }: MigrationWindow): string {
  return JSON.stringify([name, start, end, lockout, capacity]);
}

function windowMistakes(windows: readonly MigrationWindow[]): Mistake[] {
  const wrong = windows.flatMap((window, place) => {
    const problem = orderProblem(window);
    return problem === undefined
      ? []
      : [{ path: ['migration_windows', place, problem.field], message: problem.message }];
  });
  const twice = repeated(windows, ({ name }) => name).map((place) => ({
    path: ['migration_windows', place, 'name'],
    message: 'another window of the batch has that name',
  }));
  return [...wrong, ...twice, ...overlaps(windows)];
}

function orderProblem(window: MigrationWindow): { readonly field: string; readonly message: string } | undefined {
  const { end, lockout } = window;
  if (isInOrder(window)) return undefined;
  if (lockout !== undefined && end === undefined)
    return { field: 'lockout', message: 'needs an end: it is the time from which nobody may begin in the window' };
  const span = spanOf(window);
  return span.end < span.start
    ? { field: 'end', message: 'lies before the start' }
    : { field: 'lockout', message: 'must lie between start and end' };
}

/** Each window that begins before the one before it has ended. */
function overlaps(windows: readonly MigrationWindow[]): Mistake[] {
  const placed = windows.map((window, place) => ({ window, place })).sort((a, b) => inTime(a.window, b.window));
  let latest: (typeof placed)[number] | undefined;
  return placed.flatMap((one) => {
    const before = latest;
    if (before === undefined || spanOf(one.window).end > spanOf(before.window).end) latest = one;
    if (before === undefined || !overlap(before.window, one.window)) return [];
    const message = `overlaps window "${before.window.name}" (${spanText(before.window)})`;
    return [{ path: ['migration_windows', Math.max(before.place, one.place)], message }];
  });
}

function overlap(one: MigrationWindow, later: MigrationWindow): boolean {
  const [a, b] = [spanOf(one), spanOf(later)];
  return b.start < a.end || (a.start === b.start && a.end === b.end);
}

function spanText({ start, end }: MigrationWindow): string {
  return `${start === undefined ? 'open' : start} to ${end ?? 'without end'}`;
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
