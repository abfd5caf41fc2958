import type { NetworkPlacement } from '../../workflows/domain/batch/records.ts';
import type { Choice } from './choice.ts';

/** A choice and who made it: `default of the batch`, `placement rule 3`, `placement program`. */
export interface Chosen {
  readonly choice: Choice;
  readonly why: string;
}

/** One field of a placement, for people. */
export interface PlacementReason {
  /** `target`, `project`, `pool:<disk>`, `network:<mac>` or `running`. */
  readonly field: string;
  readonly value: string;
  readonly why: string;
}

/** The last choice for each field, in the order in which the fields first came up. */
export function lastChoices(all: readonly Chosen[]): readonly Chosen[] {
  return [...new Map(all.map((chosen) => [fieldOf(chosen.choice), chosen])).values()];
}

export function reasonOf({ choice, why }: Chosen): PlacementReason {
  return { field: fieldOf(choice), value: valueOf(choice), why };
}

function fieldOf(choice: Choice): string {
  switch (choice.kind) {
    case 'pool':
      return `pool:${choice.disk}`;
    case 'network':
      return `network:${choice.mac}`;
    default:
      return choice.kind;
  }
}

function valueOf(choice: Choice): string {
  switch (choice.kind) {
    case 'pool':
      return choice.pool;
    case 'network':
      return networkText(choice.network);
    default:
      return choice.name;
  }
}

function networkText({ network, nictype, vlan_id }: NetworkPlacement): string {
  return `${network} (${nictype}${vlan_id === '' ? '' : `, VLAN ${vlan_id}`})`;
}
