import type { VmPhase } from './applicability.ts';
import { kindOf, vmopTypes, type OperationKind, type VmopType } from './matrix.ts';

/** What is wrong with a request of a person, before anything is looked up; undefined: nothing. */
export function problemWithRequest(request: unknown): string | undefined {
  if (!isRecord(request) || !isRecord(request['spec'])) return 'a request is { "spec": { "type": … }, "by": … }';
  const { spec, by, name, reason, dryRun } = request;
  const { type, force, migrate } = spec;
  if (!(vmopTypes as readonly unknown[]).includes(type))
    return `spec.type is ${JSON.stringify(type)}; choose one of ${vmopTypes.join(', ')}`;
  if (force !== undefined && typeof force !== 'boolean') return 'spec.force is true or false';
  if (type === 'Start' && force === true) return 'Start cannot be forced';
  if (migrate !== undefined && type !== 'Migrate') return 'spec.migrate is for Migrate only';
  if (typeof by !== 'string' || by === '') return 'say who asks: by';
  if (name !== undefined && (typeof name !== 'string' || !isObjectName(name)))
    return `${JSON.stringify(name)} is no name for an object: lower-case letters, digits, "-" and ".", at most 248 characters`;
  if (reason !== undefined && typeof reason !== 'string') return 'the reason is a text';
  if (dryRun !== undefined && typeof dryRun !== 'boolean') return 'dryRun is true or false';
  return undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** 253 characters less what the name of its migration begins with. */
function isObjectName(name: string): boolean {
  return name.length <= 248 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name);
}

/** Phases in which a VM is already what is asked for. */
const alreadySo: Readonly<Partial<Record<VmopType, readonly VmPhase[]>>> = {
  Start: ['Running', 'Starting', 'Degraded', 'Migrating'],
  Stop: ['Stopped'],
};

export function isAlreadySo(operation: OperationKind, phase: VmPhase): boolean {
  return alreadySo[operation.type]?.includes(phase) ?? false;
}

type NodeSelector = Readonly<Record<string, string>>;

/** True when both ask for the same: the second has nothing to add. */
export function isSameRequest(
  active: OperationKind & { readonly nodeSelector?: NodeSelector },
  asked: OperationKind & { readonly migrate?: { readonly nodeSelector?: NodeSelector } },
): boolean {
  return kindOf(active) === kindOf(asked) && inOrder(active.nodeSelector) === inOrder(asked.migrate?.nodeSelector);
}

function inOrder(selector: NodeSelector = {}): string {
  return JSON.stringify(Object.entries(selector).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A name for the object of a request: `<vm>-<type>-<end of the request's id>`. */
export function objectName(vmName: string, { type, force }: OperationKind, suffix: string): string {
  const middle = `${force === true ? 'forced-' : ''}${type.toLowerCase()}-${suffix}`;
  return `${vmName.slice(0, 240 - middle.length).replace(/[-.]+$/, '')}-${middle}`;
}
