import { isInSubnet, parseIpv4, parseSubnet } from './ipv4.ts';
import type {
  ConflictCode,
  Finding,
  MigrationNetwork,
  NetworkPlacement,
  NicRecord,
  Placement,
  TargetFacts,
  TargetNetwork,
} from './records.ts';

export type PlaceConflict = Extract<
  ConflictCode,
  | 'TARGET_GONE'
  | 'PROJECT_GONE'
  | 'TARGET_INSTANCE_GONE'
  | 'MIGRATION_NETWORK_INVALID'
  | 'NETWORK_GONE'
  | 'NETWORK_TYPE'
  | 'NETWORK_SUBNET'
  | 'POOL_GONE'
>;

export type PlaceFinding = Finding<PlaceConflict | 'TARGET_INSTANCE_EXISTS'>;

export interface PlaceQuestion {
  readonly placement: Placement;
  /** The NIC during the migration. Absent: the batch has none for this target and project, the default profile's is used. */
  readonly migrationNetwork?: MigrationNetwork;
  readonly instanceName: string;
  readonly nics: readonly NicRecord[];
  /** Of the placement's target and project. Undefined: there is no such target in the configuration. */
  readonly facts: TargetFacts | undefined;
  /** What has that name in the project; `ours` = with the marks of this entry. */
  readonly present: 'absent' | 'ours' | 'foreign';
}

/**
 * What is against this placement, the first finding is the verdict; none: it can be. Every NIC and every pool is looked at, also
 * when an earlier one is wrong. Nothing falls back on a default.
 *
 * `creation`: no foreign instance may have the name. One of ours is no obstacle, it is adopted or replaced.
 * `finalisation`: our instance must be there.
 */
export function canPlace(question: PlaceQuestion, moment: 'finalisation'): Finding<PlaceConflict>[];
export function canPlace(question: PlaceQuestion, moment: 'creation'): PlaceFinding[];
export function canPlace(question: PlaceQuestion, moment: 'creation' | 'finalisation'): PlaceFinding[] {
  const { facts, placement } = question;
  const { target_name: target, target_project: project } = placement;
  if (facts === undefined)
    return [
      finding(
        'TARGET_GONE',
        `target "${target}" is not in the configuration of the workers: add it there, or place the VM elsewhere`,
        `target ${target}`,
        'no such target',
      ),
    ];
  if (!facts.project_exists)
    return [
      finding(
        'PROJECT_GONE',
        `target "${target}" has no project "${project}": create it there, or place the VM elsewhere`,
        `project ${project}`,
        'no such project',
      ),
    ];
  const place = `project "${project}" of target "${target}"`;
  return [
    ...(moment === 'creation' ? nameFindings(question, place) : instanceFindings(question, place)),
    ...migrationNetworkFindings(question, facts, place),
    ...question.nics.flatMap((nic) => nicFindings(nic, placement, facts, place)),
    ...poolFindings(placement, facts),
  ];
}

function finding<Code extends string>(code: Code, message: string, expected: string, found: string): Finding<Code> {
  return { code, message, expected, found };
}

function nameFindings({ instanceName, present }: PlaceQuestion, place: string): PlaceFinding[] {
  if (present !== 'foreign') return [];
  const message = `${place} has an instance "${instanceName}" already that is not of this entry: rename or remove it, or override the VM's name`;
  return [finding('TARGET_INSTANCE_EXISTS', message, `no instance ${instanceName}`, 'a foreign instance')];
}

function instanceFindings({ instanceName, present }: PlaceQuestion, place: string): Finding<PlaceConflict>[] {
  if (present === 'ours') return [];
  const [found, advice] =
    present === 'absent'
      ? ['no such instance', 'it was deleted or renamed; put it back, or cancel with cleanup and retry']
      : ['a foreign instance', 'it does not carry the marks of this entry; cancel, and retry under another name'];
  const message = `${place} has no instance "${instanceName}" of this entry: ${advice}`;
  return [finding('TARGET_INSTANCE_GONE', message, `our instance ${instanceName}`, found)];
}

function migrationNetworkFindings(
  { migrationNetwork: nic }: PlaceQuestion,
  { networks }: TargetFacts,
  place: string,
): Finding<PlaceConflict>[] {
  if (nic === undefined) return [];
  const network = networks.find(({ name }) => name === nic.network);
  const wrong =
    network === undefined ? ['network ' + nic.network, 'no such network'] : typeMismatch(nic, network, ['bridge']);
  if (wrong === undefined) return [];
  const [expected = '', found = ''] = wrong;
  const message = `the migration network "${nic.network}" (${nic.nictype}) can't be used in ${place}: expected ${expected}, found ${found}; change it there or in the batch`;
  return [finding('MIGRATION_NETWORK_INVALID', message, expected, found)];
}

function nicFindings(
  nic: NicRecord,
  { networks: placed }: Placement,
  { networks }: TargetFacts,
  place: string,
): Finding<PlaceConflict>[] {
  const mac = nic.hardware_address;
  const wanted = Object.hasOwn(placed, mac) ? placed[mac] : undefined;
  const name = `NIC ${mac} (${nic.location})`;
  if (wanted === undefined)
    return [
      finding(
        'NETWORK_GONE',
        `${name} is placed on no network: map its network in network_overrides`,
        'a network',
        'none',
      ),
    ];
  const network = networks.find((one) => one.name === wanted.network);
  if (network === undefined) {
    const message = `${name} is to be on network "${wanted.network}", which ${place} doesn't have: create it there, or map the NIC's network to another one in network_overrides`;
    return [finding('NETWORK_GONE', message, `network ${wanted.network}`, 'no such network')];
  }
  const mismatch = typeMismatch(wanted, network, wanted.nictype === 'physical' ? ['bridge', 'physical'] : ['bridge']);
  if (mismatch !== undefined) {
    const [expected, found] = mismatch;
    const message = `${name} can't be ${wanted.nictype} on network "${wanted.network}" of ${place}: expected ${expected}, found ${found}; change nictype or network in network_overrides`;
    return [finding('NETWORK_TYPE', message, expected, found)];
  }
  return subnetFindings(nic, wanted, network, place);
}

/** What kind of network a NIC needs and which it would get; undefined: they fit. Host interfaces are not managed. */
function typeMismatch(
  { nictype }: NetworkPlacement,
  { managed, type }: TargetNetwork,
  typesOfManaged: readonly string[],
): readonly [expected: string, found: string] | undefined {
  if (nictype === 'managed') return managed ? undefined : ['a managed network', `an unmanaged ${type}`];
  if (!managed || typesOfManaged.includes(type)) return undefined;
  return [`type ${typesOfManaged.join(' or ')}`, `a managed network of type ${type}`];
}

/** A fixed address is only given where the target hands out addresses of its own. */
function subnetFindings(
  { hardware_address, ipv4_address }: NicRecord,
  { network: name, nictype }: NetworkPlacement,
  { type, ipv4 }: TargetNetwork,
  place: string,
): Finding<PlaceConflict>[] {
  const subnet = parseSubnet(ipv4);
  if (nictype !== 'managed' || (type !== 'bridge' && type !== 'ovn') || subnet === undefined || ipv4_address === '')
    return [];
  const address = parseIpv4(ipv4_address);
  if (address !== undefined && isInSubnet(address, subnet)) return [];
  const message = `address ${ipv4_address} of NIC ${hardware_address} is not in the subnet ${ipv4} of network "${name}" of ${place}: map the NIC's network to another one in network_overrides, or change the subnet`;
  return [finding('NETWORK_SUBNET', message, `an address in ${ipv4}`, ipv4_address)];
}

function poolFindings({ storage_pools, target_name: target }: Placement, facts: TargetFacts): Finding<PlaceConflict>[] {
  const wanted = Object.entries(storage_pools);
  if (wanted.length === 0)
    return [
      finding('POOL_GONE', 'the placement names no storage pool: set one in the batch', 'a storage pool', 'none'),
    ];
  const missing = new Set(
    wanted.map(([, pool]) => pool).filter((pool) => !facts.pools.some(({ name }) => name === pool)),
  );
  return [...missing].map((pool) => {
    const disks = wanted.filter(([, other]) => other === pool).map(([disk]) => disk);
    const message = `target "${target}" has no storage pool "${pool}" (for ${disks.join(', ')}): create it there, or choose another pool`;
    return finding('POOL_GONE', message, `storage pool ${pool}`, 'no such pool');
  });
}
