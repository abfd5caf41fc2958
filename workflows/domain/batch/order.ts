import type { BatchProblem } from './spec-problems.ts';
import type { BatchSpec, InstanceOverrides } from './records.ts';

/** In which order the VMs of a batch may be in their downtime: by groups, and by what they depend on. Pure. */

/** So many have an order at most: a batch keeps them in mind, each with what it waits for. */
export const mostOrdered = 500;

type Overrides = BatchSpec['overrides'];

/** A member that waits for others, or is waited for; JSON. */
export interface OrderedVm {
  readonly uuid: string;
  readonly name: string;
  /** All members of lower groups are finished before it begins. */
  readonly group?: number;
  /** UUIDs of members that are finished before it begins. */
  readonly depends_on?: readonly string[];
}

/** UUIDs of all VMs that the order of a batch speaks of. */
export function orderedUuids(overrides: Overrides): ReadonlySet<string> {
  return new Set(
    Object.entries(overrides).flatMap(([uuid, { group, depends_on = [] }]) =>
      group === undefined && depends_on.length === 0 ? [] : [uuid, ...depends_on],
    ),
  );
}

/** The order among these members. What is said of a VM that isn't one of them is left out, as all its overrides are. */
export function orderOf(
  overrides: Overrides,
  members: Iterable<{ readonly uuid: string; readonly name: string }>,
): readonly OrderedVm[] {
  const wanted = orderedUuids(overrides);
  return [...members]
    .filter(({ uuid }) => wanted.has(uuid))
    .map(({ uuid, name }) => {
      const { group, depends_on = [] } = overrides[uuid] ?? {};
      return {
        uuid,
        name,
        ...(group === undefined ? {} : { group }),
        ...(depends_on.length === 0 ? {} : { depends_on }),
      };
    });
}

/** Members that depend on a VM that isn't one: they would wait for ever. */
export function strangersIn(order: readonly OrderedVm[]): BatchProblem[] {
  const known = new Set(order.map(({ uuid }) => uuid));
  return order.flatMap(({ uuid, name, depends_on = [] }) =>
    depends_on.flatMap((other, at) =>
      known.has(other)
        ? []
        : [
            {
              path: `${pathOf(uuid)}.depends_on[${at}]`,
              message: `${other} is the UUID of no VM of the batch: ${name} would never begin`,
            },
          ],
    ),
  );
}

/** Why a VM may not begin yet, in words; undefined: it may. */
export function orderWait(
  order: readonly OrderedVm[],
  finished: ReadonlySet<string>,
): (uuid: string) => string | undefined {
  const byUuid = new Map(order.map((vm) => [vm.uuid, vm]));
  return (uuid) => {
    const vm = byUuid.get(uuid);
    if (vm === undefined) return undefined;
    const before = order.filter((other) => !finished.has(other.uuid) && isBefore(other, vm));
    const [first, ...more] = before;
    if (first === undefined) return undefined;
    const who = more.length === 0 ? first.name : `${first.name} and ${more.length} more`;
    return `${who} must be finished before it begins (vmflow queue get ${first.uuid}); to begin now, without a window: vmflow queue cutover ${uuid}`;
  };
}

function isBefore(other: OrderedVm, vm: OrderedVm): boolean {
  if (vm.depends_on?.includes(other.uuid) === true) return true;
  return vm.group !== undefined && other.group !== undefined && other.group < vm.group;
}

/** What is wrong with the order itself: too much of it, or one that can't be kept. */
export function orderProblems({ overrides }: Pick<BatchSpec, 'overrides'>): BatchProblem[] {
  const count = orderedUuids(overrides).size;
  if (count > mostOrdered)
    return [
      {
        path: 'overrides',
        message: `give ${count} VMs an order (group, depends_on), ${mostOrdered} at most can have one`,
      },
    ];
  const cycle = cycleIn(overrides);
  if (cycle === undefined) return [];
  const [first = '', next = ''] = cycle;
  const path = overrides[first]?.depends_on?.includes(next) === true ? 'depends_on' : 'group';
  const chain = cycle.map((one) => labelOf(overrides, one)).join(' waits for ');
  return [{ path: `${pathOf(first)}.${path}`, message: `makes a circle, in which nobody ever begins: ${chain}` }];
}

/** A group stands between its members and those of the next one: as many edges as VMs, not as pairs of them. */
const groupNode = (group: number): string => `group ${group}`;

/** The first circle that is found, from one of its VMs back to it. */
function cycleIn(overrides: Overrides): readonly string[] | undefined {
  const edges = edgesOf(overrides);
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): readonly string[] | undefined => {
    if (done.has(node)) return undefined;
    if (path.includes(node)) return path.slice(path.indexOf(node));
    path.push(node);
    for (const next of edges.get(node) ?? []) {
      const cycle = visit(next);
      if (cycle !== undefined) return cycle;
    }
    path.pop();
    done.add(node);
    return undefined;
  };
  for (const uuid of Object.keys(overrides)) {
    const cycle = visit(uuid);
    if (cycle === undefined) continue;
    const start = cycle.findIndex((node) => overrides[node] !== undefined);
    const turned = [...cycle.slice(start), ...cycle.slice(0, start)];
    return [...turned, turned[0] ?? uuid];
  }
  return undefined;
}

/** Node → those that must be finished before it. */
function edgesOf(overrides: Overrides): ReadonlyMap<string, readonly string[]> {
  const groups = [...new Set(Object.values(overrides).flatMap(({ group }) => group ?? []))].sort((a, b) => a - b);
  const lower = (group: number): string[] => {
    const next = groups[groups.indexOf(group) - 1];
    return next === undefined ? [] : [groupNode(next)];
  };
  const all = Object.entries(overrides);
  const edges = new Map<string, readonly string[]>(
    all.map(([uuid, { group, depends_on = [] }]) => [
      uuid,
      [...depends_on, ...(group === undefined ? [] : lower(group))],
    ]),
  );
  for (const group of groups) {
    const members = all.filter(([, vm]) => vm.group === group).map(([uuid]) => uuid);
    edges.set(groupNode(group), [...members, ...lower(group)]);
  }
  return edges;
}

function labelOf(overrides: Overrides, node: string): string {
  const { name, group }: InstanceOverrides = overrides[node] ?? {};
  const called = name === undefined || name === '' ? node : `${name} (${node})`;
  return group === undefined ? called : `${called} of group ${group}`;
}

function pathOf(uuid: string): string {
  return `overrides["${uuid}"]`;
}
