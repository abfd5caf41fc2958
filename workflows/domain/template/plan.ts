import type { Observation, ObservedVm } from './observation.ts';

/** What can be done to the three names. Each leads to a new observation. */
export type Action = 'restore' | 'promote' | 'import' | 'finalize' | 'swap' | 'destroyTemp' | 'destroyRollback';

export interface Wanted {
  /** Logical production name, as the marker has it. */
  readonly prodName: string;
  readonly version: string;
  readonly sha256: string;
  /** Id of this operation, as the marker has it. */
  readonly opId: string;
  readonly createIfMissing: boolean;
  readonly replaceUnknownVersion: boolean;
  readonly strictOwnership: boolean;
  readonly recovery: 'forward-if-ready' | 'back-first';
  /** The temp VM that this run has imported whole, by reference value: it only has to be finished. */
  readonly imported?: string;
  /** The template that this run has set aside, by reference value. */
  readonly previous?: string;
  /** The temp VM that this run has looked over and finished, by reference value. */
  readonly checked?: string;
  /** Temp VMs that were found not to be as wanted, by reference value. */
  readonly unfit?: readonly string[];
  /** Temp VMs that a person has declared to be the finished new version (`adopt`), by reference value. */
  readonly adopted: readonly string[];
  /** Objects that a person has given up (`destroy-foreign`), by reference value. */
  readonly givenUp: readonly string[];
  /** How long another writer's import may be running, seconds. */
  readonly leaseTimeoutS: number;
}

type ProdClass = 'none' | 'cur' | 'old' | 'unk' | 'bad';
type TempClass = 'none' | 'rdy' | 'own' | 'fgn' | 'other';
type RollbackClass = 'none' | 'ok' | 'fgn';

/** A plan for one observation: go on, end well, end badly, or ask a person. `row` names the line of the state table. */
export type Plan =
  | {
      readonly kind: 'go';
      readonly row: string;
      readonly actions: readonly [Action, ...Action[]];
      readonly warnings: readonly string[];
    }
  | { readonly kind: 'done'; readonly row: string; readonly warnings: readonly string[] }
  | {
      readonly kind: 'fail';
      readonly row: string;
      readonly code: 'PROD_MISSING' | 'UNKNOWN_PROD_VERSION' | 'PROD_NOT_TEMPLATE';
    }
  | {
      readonly kind: 'conflict';
      readonly row: string;
      readonly code: 'FOREIGN_OBJECT' | 'OTHER_WRITER';
      readonly object: 'temp' | 'rollback';
    };

/** True when the VM is what the request wants: same version and, where both tell one, the same digest. */
export function isCurrent(vm: ObservedVm, wanted: Pick<Wanted, 'version' | 'sha256'>): boolean {
  if (vm.version !== wanted.version) return false;
  const digest = vm.marker?.state === 'ready' ? vm.marker.sha256 : '';
  return digest === '' || wanted.sha256 === '' || digest === wanted.sha256;
}

function classifyProd(vm: ObservedVm | undefined, wanted: Wanted): ProdClass {
  if (vm === undefined) return 'none';
  if (!vm.isTemplate || !vm.poweredOff) return 'bad';
  if (vm.version === undefined) return 'unk';
  return isCurrent(vm, wanted) ? 'cur' : 'old';
}

/** The workflow id in an operation id; a workflow id is a lock, so another run of it is over. */
function workflowOf(opId: string): string {
  return opId.slice(0, opId.lastIndexOf('/'));
}

function classifyTemp(vm: ObservedVm | undefined, wanted: Wanted): TempClass {
  if (vm === undefined) return 'none';
  if (!vm.poweredOff) return 'fgn';
  const isUnfit = wanted.unfit?.includes(vm.ref.value) === true;
  if (!isUnfit && (vm.ref.value === wanted.imported || wanted.adopted.includes(vm.ref.value))) return 'rdy';
  if (wanted.givenUp.includes(vm.ref.value)) return 'own';
  if (vm.marker === undefined) return wanted.strictOwnership ? 'fgn' : 'own';
  if (vm.marker.prod !== wanted.prodName) return 'fgn';
  if (isUnfit) return 'own';
  if (vm.marker.state === 'ready') {
    return vm.marker.version === wanted.version && vm.marker.sha256 === wanted.sha256 ? 'rdy' : 'own';
  }
  const isOthers = workflowOf(vm.marker.opId) !== workflowOf(wanted.opId);
  return isOthers && vm.ageS !== undefined && vm.ageS < wanted.leaseTimeoutS ? 'other' : 'own';
}

/**
 * A template under the rollback name may always become the production template again when there is none. It may be destroyed
 * only when it is proven to be the previous one.
 */
function classifyRollback(vm: ObservedVm | undefined, prod: ObservedVm | undefined, wanted: Wanted): RollbackClass {
  if (vm === undefined) return 'none';
  if (!vm.poweredOff) return 'fgn';
  if (prod === undefined) return vm.isTemplate ? 'ok' : 'fgn';
  if (wanted.givenUp.includes(vm.ref.value)) return 'ok';
  return vm.isTemplate && isPrevious(vm, prod, wanted) ? 'ok' : 'fgn';
}

/** Its own marker says so, this run has set it aside, or the template that took its place names it. */
function isPrevious(vm: ObservedVm, prod: ObservedVm, wanted: Wanted): boolean {
  return (
    vm.marker?.prod === wanted.prodName ||
    vm.ref.value === wanted.previous ||
    vm.ref.value === prod.marker?.replaces ||
    (vm.marker === undefined && !wanted.strictOwnership)
  );
}

function classify({ prod, temp, rollback }: Observation, wanted: Wanted): Classes {
  return {
    P: classifyProd(prod, wanted),
    T: classifyTemp(temp, wanted),
    R: classifyRollback(rollback, prod, wanted),
  };
}

interface Classes {
  readonly P: ProdClass;
  readonly T: TempClass;
  readonly R: RollbackClass;
}

/** How a row of the table ends: actions, or a word. */
type Ending =
  | readonly Action[]
  | 'fail'
  | 'conflict-temp'
  | 'conflict-rollback'
  /** Create where allowed, else fail `PROD_MISSING`. */
  | 'create'
  /** Only with `replaceUnknownVersion`, else fail `UNKNOWN_PROD_VERSION`. */
  | { readonly ifReplacing: readonly Action[] };

interface Row {
  readonly row: string;
  readonly P: readonly ProdClass[];
  readonly T: readonly TempClass[];
  readonly R: readonly RollbackClass[];
  readonly end: Ending;
  /** With `recovery: back-first`. */
  readonly backFirst?: readonly Action[];
  readonly warning?: string;
}

const none = ['none'] as const;
const foreignTemp = ['fgn', 'other'] as const;
const ours = ['rdy', 'own'] as const;
const anyTemp = ['none', 'rdy', 'own', 'fgn', 'other'] as const;
const anyRollback = ['none', 'ok', 'fgn'] as const;
const importAndSwap = ['import', 'finalize', 'swap', 'destroyRollback'] as const;

/**
 * The state table. The first row that fits holds. Golden rule of the order of actions: whatever makes the production name
 * exist comes before anything that destroys. Foreign objects are never destroyed or renamed.
 */
const table: readonly Row[] = [
  { row: '8', P: ['bad'], T: anyTemp, R: anyRollback, end: 'fail' },
  {
    row: '9',
    P: ['cur'],
    T: foreignTemp,
    R: ['ok'],
    end: ['destroyRollback'],
    warning: 'a foreign object has the temp name; it was left alone',
  },
  {
    row: '9',
    P: ['cur'],
    T: foreignTemp,
    R: ['none', 'fgn'],
    end: [],
    warning: 'a foreign object has the temp name; it was left alone',
  },
  {
    row: '11',
    P: ['cur'],
    T: ours,
    R: ['fgn'],
    end: ['destroyTemp'],
    warning: 'a foreign object has the rollback name; it was left alone',
  },
  {
    row: '11',
    P: ['cur'],
    T: none,
    R: ['fgn'],
    end: [],
    warning: 'a foreign object has the rollback name; it was left alone',
  },
  { row: '5c', P: ['unk'], T: none, R: ['ok', 'fgn'], end: 'fail' },
  { row: '7d', P: ['unk'], T: ours, R: ['ok', 'fgn'], end: 'fail' },
  { row: '10', P: ['none'], T: foreignTemp, R: ['ok'], end: ['restore'] },
  { row: '10', P: ['none', 'old', 'unk'], T: foreignTemp, R: anyRollback, end: 'conflict-temp' },
  {
    row: '12',
    P: ['none'],
    T: ['rdy'],
    R: ['fgn'],
    end: ['promote'],
    warning: 'a foreign object has the rollback name; it was left alone',
  },
  { row: '12', P: ['none', 'old', 'unk'], T: ['none', 'rdy', 'own'], R: ['fgn'], end: 'conflict-rollback' },
  { row: '0', P: none, T: none, R: none, end: 'create' },
  { row: '1', P: none, T: none, R: ['ok'], end: ['restore'] },
  { row: '2a', P: none, T: ['rdy'], R: none, end: ['promote'] },
  { row: '2b', P: none, T: ['own'], R: none, end: ['destroyTemp'] },
  {
    row: '3a',
    P: none,
    T: ['rdy'],
    R: ['ok'],
    end: ['promote', 'destroyRollback'],
    backFirst: ['restore', 'swap', 'destroyRollback'],
  },
  { row: '3b', P: none, T: ['own'], R: ['ok'], end: ['restore', 'destroyTemp', ...importAndSwap] },
  { row: '4a', P: ['cur'], T: none, R: none, end: [] },
  { row: '4b', P: ['old'], T: none, R: none, end: importAndSwap },
  { row: '4c', P: ['unk'], T: none, R: none, end: { ifReplacing: importAndSwap } },
  { row: '5a', P: ['cur'], T: none, R: ['ok'], end: ['destroyRollback'] },
  { row: '5b', P: ['old'], T: none, R: ['ok'], end: ['destroyRollback', ...importAndSwap] },
  { row: '6a', P: ['cur'], T: ours, R: none, end: ['destroyTemp'] },
  { row: '6b', P: ['old'], T: ['rdy'], R: none, end: ['swap', 'destroyRollback'] },
  { row: '6c', P: ['old'], T: ['own'], R: none, end: ['destroyTemp', ...importAndSwap] },
  { row: '6d', P: ['unk'], T: ['rdy'], R: none, end: { ifReplacing: ['swap', 'destroyRollback'] } },
  { row: '6d', P: ['unk'], T: ['own'], R: none, end: { ifReplacing: ['destroyTemp', ...importAndSwap] } },
  { row: '7a', P: ['cur'], T: ours, R: ['ok'], end: ['destroyTemp', 'destroyRollback'] },
  { row: '7b', P: ['old'], T: ['rdy'], R: ['ok'], end: ['destroyRollback', 'swap', 'destroyRollback'] },
  { row: '7c', P: ['old'], T: ['own'], R: ['ok'], end: ['destroyTemp', 'destroyRollback', ...importAndSwap] },
];

/**
 * A ready temp that lacks the template flag is finished first. One that an earlier run finished is looked over first, unless
 * the production name is absent: then nothing comes before the name.
 */
function withFinalize(
  actions: readonly Action[],
  { prod, temp }: Observation,
  { T }: Classes,
  wanted: Wanted,
): readonly Action[] {
  const at = actions.findIndex((action) => action === 'swap' || action === 'promote');
  if (T !== 'rdy' || temp === undefined || at < 0 || actions.includes('import')) return actions;
  const isLookedOver = prod === undefined || temp.ref.value === wanted.checked;
  if (temp.isTemplate && isLookedOver) return actions;
  return [...actions.slice(0, at), 'finalize', ...actions.slice(at)];
}

function failCode(P: ProdClass): 'PROD_MISSING' | 'UNKNOWN_PROD_VERSION' | 'PROD_NOT_TEMPLATE' {
  if (P === 'bad') return 'PROD_NOT_TEMPLATE';
  return P === 'unk' ? 'UNKNOWN_PROD_VERSION' : 'PROD_MISSING';
}

function actionsOf(row: Row, { P }: Classes, wanted: Wanted): readonly Action[] | undefined {
  if (row.backFirst !== undefined && wanted.recovery === 'back-first') return row.backFirst;
  if (row.end === 'create') {
    const create: readonly Action[] = ['import', 'finalize', 'promote'];
    return wanted.createIfMissing ? create : undefined;
  }
  if (typeof row.end === 'object' && 'ifReplacing' in row.end) {
    return wanted.replaceUnknownVersion ? row.end.ifReplacing : undefined;
  }
  return typeof row.end === 'string' || P === 'bad' ? undefined : row.end;
}

/** What is to be done next; pure and total. Only the first action is carried out before the world is looked at again. */
export function plan(observation: Observation, wanted: Wanted): Plan {
  const classes = classify(observation, wanted);
  const { P, T, R } = classes;
  const row = table.find((r) => r.P.includes(P) && r.T.includes(T) && r.R.includes(R));
  if (row === undefined) throw new Error(`the state table has no row for prod ${P}, temp ${T}, rollback ${R}`);
  if (row.end === 'conflict-temp') {
    return { kind: 'conflict', row: row.row, code: T === 'other' ? 'OTHER_WRITER' : 'FOREIGN_OBJECT', object: 'temp' };
  }
  if (row.end === 'conflict-rollback')
    return { kind: 'conflict', row: row.row, code: 'FOREIGN_OBJECT', object: 'rollback' };
  const actions = actionsOf(row, classes, wanted);
  if (actions === undefined) return { kind: 'fail', row: row.row, code: failCode(P) };
  const [first, ...rest] = withFinalize(actions, observation, classes, wanted);
  const warnings = row.warning === undefined ? [] : [row.warning];
  if (first === undefined) return { kind: 'done', row: row.row, warnings };
  return { kind: 'go', row: row.row, actions: [first, ...rest], warnings };
}

/** The classes of an observation in words, for status lines and dry runs. */
export function describeState(observation: Observation, wanted: Wanted): string {
  const { P, T, R } = classify(observation, wanted);
  return `prod ${P}, temp ${T}, rollback ${R}`;
}

/** True when the temp VM is this operation's to remove: finished or left over, never somebody else's. */
export function isOurTemp(observation: Observation, wanted: Wanted): boolean {
  const { T } = classify(observation, wanted);
  return T === 'rdy' || T === 'own';
}
