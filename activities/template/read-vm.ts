import type { ObservedVm } from '../../workflows/domain/template/observation.ts';
import type { MoRef, ObjectContent } from '../vsphere/port.ts';
import { readMarker, type FullMarker } from './marker.ts';
import { versionOf } from './version.ts';

/** Everything that is read of each of the three VMs, in one call. */
export const vmPaths = [
  'name',
  'config.template',
  'config.extraConfig',
  'config.createDate',
  'config.vAppConfig',
  'summary.config.product',
  'runtime.powerState',
  'snapshot',
  'disabledMethod',
] as const;

export interface ReadVm {
  readonly vm: ObservedVm;
  readonly marker?: FullMarker | undefined;
  readonly warnings: readonly string[];
}

/** A VM's properties as an observation. `serverTime` makes its age known. */
export function readVm(content: ObjectContent, serverTime: string | undefined): ReadVm {
  const { ref, props } = content;
  const marker = readMarker(list(props.get('config.extraConfig')) as { key: string; value: unknown }[], ref.value);
  const { version, warning } = versionOf({
    marker,
    productVersion: field(props.get('summary.config.product'), 'version'),
    vAppVersions: list(fieldOf(props.get('config.vAppConfig'), 'product')).map(
      (entry) => field(entry, 'version') ?? '',
    ),
  });
  const ageS = serverTime === undefined ? undefined : ageOf(props.get('config.createDate'), serverTime);
  return {
    marker,
    warnings: warning === undefined ? [] : [warning],
    vm: {
      ref,
      name: String(props.get('name')),
      isTemplate: props.get('config.template') === true,
      poweredOff: props.get('runtime.powerState') === 'poweredOff',
      hasSnapshot: props.get('snapshot') !== undefined,
      ...(marker === undefined ? {} : { marker: bare(marker) }),
      ...(version === undefined ? {} : { version }),
      ...(ageS === undefined ? {} : { ageS }),
    },
  };
}

function bare({ prod, opId, version, sha256, state, replaces }: FullMarker): NonNullable<ObservedVm['marker']> {
  return { prod, opId, version, sha256, state, ...(replaces === undefined ? {} : { replaces }) };
}

function ageOf(created: unknown, serverTime: string): number | undefined {
  const ms = Date.parse(serverTime) - Date.parse(typeof created === 'string' ? created : '');
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.round(ms / 1000));
}

export function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

export function field(value: unknown, name: string): string | undefined {
  const found = fieldOf(value, name);
  return found === undefined || found === null ? undefined : scalar(found);
}

function scalar(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

export function asRef(value: unknown): MoRef | undefined {
  const type = field(value, 'type');
  const id = field(value, 'value');
  return type === undefined || id === undefined ? undefined : { type, value: id };
}
