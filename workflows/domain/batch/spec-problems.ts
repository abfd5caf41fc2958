import { isApiName, isHostName } from './effective.ts';
import { orderProblems } from './order.ts';
import { isDistributionOf, isVersionOf } from './os.ts';
import type { BatchSpec, InstanceOverrides, NetworkPlacement } from './records.ts';

/** One mistake: its path into the batch, such as `constraints[1].name`, and a sentence that goes on from there. */
export interface BatchProblem {
  readonly path: string;
  readonly message: string;
}

/**
 * What is wrong with a batch whose fields have the right types: names, and what fields have to do with each other. Windows,
 * expressions and programs have rules of their own.
 */
export function specProblems(spec: BatchSpec): BatchProblem[] {
  return [
    ...nameProblems(spec),
    ...constraintProblems(spec),
    ...networkProblems(spec),
    ...numberProblems(spec),
    ...orderProblems(spec),
    ...Object.entries(spec.overrides).flatMap(([uuid, overrides]) => [
      ...uuidProblems(uuid),
      ...overridesProblems(overrides, `overrides["${uuid}"]`),
    ]),
  ];
}

/** What is wrong with the overrides of one instance, also outside of a batch file. */
export function overridesProblems(overrides: InstanceOverrides, path: string): BatchProblem[] {
  const { name = '', os_type, distribution = '', distribution_version = '' } = overrides;
  const type = os_type ?? (distribution === 'freebsd' ? 'bsd' : 'linux');
  const isTypeKnown = os_type !== undefined || distribution !== '';
  const system = { os_type: type, distribution: distribution === '' ? 'other' : distribution, distribution_version };
  const isStartedAndStopped = overrides.started_after_migration === true && overrides.stopped_after_migration === true;
  return [
    ...unless(
      name === '' || isHostName(name),
      `${path}.name`,
      'is no host name: 1 to 63 letters, digits and -, not only digits, no - at its ends',
    ),
    ...unless(isCount(overrides.cpus ?? 0), `${path}.cpus`, 'must be a whole number'),
    ...unless(isCount(overrides.memory ?? 0), `${path}.memory`, 'must be a whole number of bytes'),
    ...unless(
      os_type === undefined || distribution === '' || isDistributionOf(os_type, distribution),
      `${path}.distribution`,
      `${distribution} is no system of type ${type}`,
    ),
    ...unless(!isTypeKnown || isVersionOf(system), `${path}.distribution_version`, 'is no version of that system'),
    ...unless(!isStartedAndStopped, `${path}.stopped_after_migration`, 'excludes started_after_migration'),
  ];
}

function unless(isRight: boolean, path: string, message: string): BatchProblem[] {
  return isRight ? [] : [{ path, message }];
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function uuidProblems(uuid: string): BatchProblem[] {
  const isUuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid);
  return unless(isUuid, `overrides["${uuid}"]`, 'is no UUID in lower case');
}

function nameProblems({ name, constraints, defaults, placement_rules, network_overrides }: BatchSpec): BatchProblem[] {
  const { placement, migration_network } = defaults;
  const named: readonly (readonly [path: string, name: string | undefined])[] = [
    ['name', name],
    ...constraints.map((one, i) => [`constraints[${i}].name`, one.name] as const),
    ['defaults.placement.target', placement.target],
    ['defaults.placement.target_project', placement.target_project],
    ['defaults.placement.storage_pool', placement.storage_pool],
    ...migration_network.flatMap(({ target, target_project, network }, i) => {
      const path = `defaults.migration_network[${i}]`;
      return [
        [`${path}.target`, target],
        [`${path}.target_project`, target_project],
        [`${path}.network`, network],
      ] as const;
    }),
    ...placement_rules.flatMap(({ set }, i) => {
      const path = `placement_rules[${i}].set`;
      return [
        [`${path}.target`, set.target],
        [`${path}.project`, set.project],
        [`${path}.pool.default`, set.pool?.default],
        ...(set.pool?.by_disk ?? []).map(({ pool }, k) => [`${path}.pool.by_disk[${k}].pool`, pool] as const),
        ...(set.network ?? []).map(({ network }, k) => [`${path}.network[${k}].network`, network] as const),
      ] as const;
    }),
    ...Object.entries(network_overrides).map(([key, { network }]) => [networkPath(key) + '.network', network] as const),
  ];
  return named.flatMap(([path, text]) =>
    unless(
      text === undefined || isApiName(text),
      path,
      'is no name: it begins and ends with a letter or digit, has 1 to 64 characters, without blanks and $ ? & + " \' ` * /',
    ),
  );
}

function networkPath(key: string): string {
  return `network_overrides[${JSON.stringify(key)}]`;
}

function constraintProblems({ constraints }: BatchSpec): BatchProblem[] {
  const names = repeated(constraints.map(({ name }) => name));
  const expressions = repeated(constraints.map(({ include_expression }) => include_expression.trim()));
  return [
    ...names.map((i) => ({ path: `constraints[${i}].name`, message: 'another constraint of the batch has that name' })),
    ...expressions.map((i) => ({
      path: `constraints[${i}].include_expression`,
      message: 'another constraint of the batch has that expression: only the last one would ever apply',
    })),
    ...constraints.flatMap(({ max_concurrent_instances: most, min_instance_boot_time: boot }, i) => [
      ...unless(isCount(most), `constraints[${i}].max_concurrent_instances`, 'must be a whole number, 0 for no limit'),
      ...unless(boot >= 0, `constraints[${i}].min_instance_boot_time`, 'must not be negative'),
    ]),
  ];
}

function networkProblems({ defaults, network_overrides, placement_rules }: BatchSpec): BatchProblem[] {
  const places = defaults.migration_network.map(({ target, target_project }) => `${target}/${target_project}`);
  const placements: readonly (readonly [path: string, network: Partial<NetworkPlacement>])[] = [
    ...defaults.migration_network.map((network, i) => [`defaults.migration_network[${i}]`, network] as const),
    ...placement_rules.flatMap(({ set }, i) =>
      (set.network ?? []).map(
        // A rule that says no type means a managed network.
        (network, k) => [`placement_rules[${i}].set.network[${k}]`, { nictype: 'managed', ...network }] as const,
      ),
    ),
    ...Object.entries(network_overrides).map(([key, network]) => [networkPath(key), network] as const),
  ];
  return [
    ...repeated(places).map((i) => ({
      path: `defaults.migration_network[${i}]`,
      message: 'another one is for the same target and project',
    })),
    ...placements.flatMap(([path, network]) => vlanProblems(network, `${path}.vlan_id`)),
  ];
}

/** An override without a type may be for a network that has one with VLANs. */
function vlanProblems({ nictype, vlan_id = '' }: Partial<NetworkPlacement>, path: string): BatchProblem[] {
  if (vlan_id === '') return [];
  if (nictype === 'managed')
    return [{ path, message: 'is only for bridged and physical: a managed network has its own' }];
  return unless(
    vlan_id.split(',').every(isVlan),
    path,
    'is no VLAN: write 10, or 10,20, or 100-200, each from 1 to 4094',
  );
}

function isVlan(text: string): boolean {
  const [, first, last = first] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(text) ?? [];
  const [from, to] = [Number(first), Number(last)];
  return from >= 1 && to <= 4_094 && from <= to;
}

function numberProblems({ config }: BatchSpec): BatchProblem[] {
  const { background_sync_interval: interval, final_background_sync_limit: limit } = config;
  const counts = ['post_migration_retries', 'sync_limit', 'create_retries'] as const;
  return [
    ...counts.flatMap((field) => unless(isCount(config[field]), `config.${field}`, 'must be a whole number')),
    ...unless(interval > 0, 'config.background_sync_interval', 'must be longer than 0s'),
    ...unless(limit > 0, 'config.final_background_sync_limit', 'must be longer than 0s'),
    ...unless(
      limit <= interval,
      'config.final_background_sync_limit',
      'must not be longer than background_sync_interval',
    ),
  ];
}

/** Places of those that an earlier one is equal to. */
function repeated(texts: readonly string[]): number[] {
  return texts.flatMap((text, i) => (texts.indexOf(text) < i ? [i] : []));
}
