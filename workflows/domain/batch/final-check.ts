import { propertiesHash } from './baseline.ts';
import { canPlace, type PlaceConflict } from './can-place.ts';
import { disksIdentity } from './disks-check.ts';
import { effectiveName } from './effective.ts';
import { movesIn, movesInWords } from './placement-moves.ts';
import type {
  Baseline,
  ConflictCode,
  ErrorCode,
  Finding,
  InstanceOverrides,
  InstanceRecord,
  MigrationNetwork,
  NicRecord,
  Placement,
  TargetFacts,
} from './records.ts';
import { mergeRecord } from './sync-merge.ts';

/** Everything that M4 looks at. Source and target were read just now; a read that failed is no look. */
export interface FinalLook {
  /** Undefined: the source has no such VM. */
  readonly found: { readonly instance: InstanceRecord; readonly power: 'on' | 'off' | 'suspended' } | undefined;
  /** The entry's. */
  readonly record: InstanceRecord;
  readonly overrides: InstanceOverrides;
  readonly baseline: Baseline;
  readonly placement: Placement;
  /** It follows a resolve: the placement is computed anew in any case. */
  readonly isResolve: boolean;
  /** `force_conflict_resolution` as it is now. */
  readonly force: boolean;
  /** Disks of the source since the last copy. Absent: the source was off all the time. */
  readonly changedSinceFinal?: 'none' | 'some' | 'unknown';
  readonly staleSource: 'recopy' | 'accept';
  /** Given once a look has answered `recompute`: where the VM goes by the batch of today, or why that can't be told. */
  readonly recomputed?: { readonly placement: Placement } | { readonly problem: string };
  /** Of the entry's target and project; undefined: the target is not in the configuration any more. */
  readonly facts: TargetFacts | undefined;
  /** What has the name of the target instance; `ours` = with the marks of this entry. */
  readonly present: 'absent' | 'ours' | 'foreign';
  readonly migrationNetwork?: MigrationNetwork;
}

/** What the entry remembers from now on, also with a conflict or an error: people see the truth. The baseline never changes. */
interface Outcome {
  readonly record: InstanceRecord;
  readonly placement: Placement;
  /** For events. */
  readonly warnings: readonly string[];
}

export type FinalVerdict =
  /** To be switched off, then looked at again with `changedSinceFinal`. */
  | { readonly verdict: 'powered-on' }
  /** To be placed anew with this record, then looked at again with `recomputed`. */
  | { readonly verdict: 'recompute'; readonly record: InstanceRecord }
  /** The source wrote data after the last copy. */
  | ({ readonly verdict: 'stale' } & Outcome)
  | ({ readonly verdict: 'clean' } & Outcome)
  | ({ readonly verdict: 'conflict'; readonly finding: Finding<ConflictCode> } & Outcome)
  | ({ readonly verdict: 'error'; readonly finding: Finding<ErrorCode> } & Outcome);

/**
 * M4, steps 1 to 11 of the specification §7.4 in their order; pure and total. It compares with the baseline and with the entry's
 * own placement, never with an earlier look: an unchanged world gives the same conflict again.
 */
export function finalCheck(look: FinalLook): FinalVerdict {
  const { found, record, force } = look;
  if (found === undefined) return force ? checkPlacement(look, record, [goneButForced(record)]) : vmGone(look);
  if (found.power !== 'off') return { verdict: 'powered-on' };
  const merged = mergeRecord(record, found.instance);
  const { changedSinceFinal = 'none', staleSource } = look;
  if (changedSinceFinal !== 'none' && staleSource === 'recopy')
    return {
      verdict: 'stale',
      record: merged,
      placement: look.placement,
      warnings: [stale(merged, changedSinceFinal)],
    };
  const finding = identityFinding(look, merged);
  return finding === undefined
    ? checkPlacement(look, merged, [])
    : { verdict: 'error', finding, record: merged, placement: look.placement, warnings: [] };
}

/** Steps 3 to 5. Nothing can force these: what was copied is another VM. */
function identityFinding({ baseline, overrides }: FinalLook, vm: InstanceRecord): Finding<ErrorCode> | undefined {
  if (vm.uuid !== baseline.uuid)
    return {
      code: 'IDENTITY_UUID',
      message: `${vm.source_specific_id} (${vm.location}) has another instance UUID than when it was placed, so it may be another VM: cancel with cleanup, and migrate it anew`,
      expected: baseline.uuid,
      found: vm.uuid,
    };
  const name = effectiveName(vm, overrides);
  if (name !== baseline.name)
    return {
      code: 'IDENTITY_NAME',
      message: `${baseline.name} is called "${name}" now, while its target was made as "${baseline.name}": rename it back, or cancel with cleanup and retry`,
      expected: baseline.name,
      found: name,
    };
  return disksIdentity(baseline.name, baseline, vm.disks);
}

/** Steps 7 to 9: where it goes. Only the map of its NICs may change without a word. */
function checkPlacement(look: FinalLook, record: InstanceRecord, warnings: readonly string[]): FinalVerdict {
  const { recomputed, placement, baseline } = look;
  const outcome: Outcome = { record, placement, warnings };
  const isDue = look.isResolve || propertiesHash(record, look.overrides) !== baseline.properties;
  if (!isDue) return checkTarget(look, outcome, record.nics);
  if (recomputed === undefined) return { verdict: 'recompute', record };
  if ('problem' in recomputed) return keepOrAsk(look, outcome, cannotTell(baseline, recomputed.problem));
  const finding = moved(look, recomputed.placement);
  if (finding !== undefined) return keepOrAsk(look, outcome, finding);
  const { networks } = recomputed.placement;
  return checkTarget(look, { ...outcome, placement: { ...placement, networks } }, record.nics);
}

/** Where it was to go first, without the NICs that came later. */
function keepOrAsk(
  look: FinalLook,
  outcome: Outcome,
  finding: Finding<'PLACEMENT_FAILED' | 'PLACEMENT_CHANGED'>,
): FinalVerdict {
  if (!look.force) return { verdict: 'conflict', finding, ...outcome };
  const { record, placement } = outcome;
  const placed = record.nics.filter(({ hardware_address }) => Object.hasOwn(placement.networks, hardware_address));
  const warnings = [...outcome.warnings, forced(finding), ...leftOut(record, placement)];
  return checkTarget(look, { ...outcome, warnings }, placed);
}

/** Steps 10 and 11. A conflict keeps the placement as it was: forcing later means that one. */
function checkTarget(look: FinalLook, outcome: Outcome, nics: readonly NicRecord[]): FinalVerdict {
  const { facts, present, migrationNetwork, baseline, placement } = look;
  const question = { placement: outcome.placement, instanceName: baseline.name, nics, facts, present };
  const findings = canPlace(
    migrationNetwork === undefined ? question : { ...question, migrationNetwork },
    'finalisation',
  );
  const [finding] = findings;
  if (finding === undefined) return { verdict: 'clean', ...outcome };
  if (!look.force) return { verdict: 'conflict', finding, ...outcome, placement };
  const warnings = new Set([...outcome.warnings, ...findings.map(forced), ...leftOut(outcome.record, placement)]);
  return { verdict: 'clean', record: look.record, placement, warnings: [...warnings] };
}

function vmGone({ record, placement, baseline }: FinalLook): FinalVerdict {
  const finding: Finding<ConflictCode> = {
    code: 'SOURCE_VM_GONE',
    message: `source ${record.source} has no VM ${record.source_specific_id} any more, last seen as ${record.location}: bring it back, or cancel; force_conflict_resolution goes on with what was copied of ${baseline.name}`,
    expected: record.source_specific_id,
    found: 'no such VM',
  };
  return { verdict: 'conflict', finding, record, placement, warnings: [] };
}

function cannotTell({ name }: Baseline, problem: string): Finding<'PLACEMENT_FAILED'> {
  return {
    code: 'PLACEMENT_FAILED',
    message: `where ${name} goes can't be computed: ${problem}`,
    expected: 'a placement',
    found: problem,
  };
}

function moved({ placement, baseline }: FinalLook, recomputed: Placement): Finding<'PLACEMENT_CHANGED'> | undefined {
  const moves = movesIn(placement, recomputed);
  if (moves.length === 0) return undefined;
  return {
    code: 'PLACEMENT_CHANGED',
    message: `${baseline.name} would be placed elsewhere now than its disks were copied to (${movesInWords(moves, 'both')}): change source, overrides or program so that it is placed as before, or cancel with cleanup and retry`,
    expected: movesInWords(moves, 'expected'),
    found: movesInWords(moves, 'found'),
  };
}

function forced({ code, message }: Finding<PlaceConflict | 'PLACEMENT_FAILED' | 'PLACEMENT_CHANGED'>): string {
  return `forced, the placement stays as it was: ${code}: ${message}`;
}

function goneButForced({ source_specific_id, source }: InstanceRecord): string {
  return `forced, the last known record is used: SOURCE_VM_GONE: source ${source} has no VM ${source_specific_id} any more`;
}

function stale({ name }: InstanceRecord, changed: 'some' | 'unknown'): string {
  return changed === 'some'
    ? `the source of ${name} has written data after the last copy; it is copied again`
    : `whether the source of ${name} has written data after the last copy can't be told; it is copied again`;
}

function leftOut({ nics }: InstanceRecord, { networks }: Placement): string[] {
  return nics
    .filter(({ hardware_address }) => !Object.hasOwn(networks, hardware_address))
    .map(({ hardware_address, location }) => `NIC ${hardware_address} (${location}) is left out: it was not placed`);
}
