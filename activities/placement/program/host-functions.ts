import { ChoiceError, chooseNetwork, choosePool, chooseProject, chooseTarget, type Placeable } from '../choice.ts';
import type { Choice } from '../choice.ts';
import { limits } from './limits.ts';
import type { LogLine, ProgramResult } from './protocol.ts';

/** What a program may hand over. Everything else arrives as `unreadable`: reading it would run the program's code. */
export type Argument = string | number | boolean | null | undefined | typeof unreadable;
export const unreadable = Symbol('unreadable');

/** Throws `ChoiceError` for what the program did wrong. */
export type HostFunction = (...args: readonly Argument[]) => void;

/** The functions that a program can call besides its language, and what came of them. */
export class HostFunctions {
  readonly #placeable: Placeable;
  readonly #choices: Choice[] = [];
  readonly #log: LogLine[] = [];

  constructor(placeable: Placeable) {
    this.#placeable = placeable;
  }

  readonly all: Readonly<Record<string, HostFunction>> = {
    set_target: (name) => this.#choose(chooseTarget(text('set_target', 'name', name))),
    set_project: (name) => this.#choose(chooseProject(text('set_project', 'name', name))),
    set_pool: (disk, pool) =>
      this.#choose(choosePool(this.#placeable, text('set_pool', 'disk', disk), text('set_pool', 'pool', pool))),
    set_network: (mac, network, nictype, vlan) =>
      this.#choose(
        chooseNetwork(this.#placeable, text('set_network', 'mac', mac), {
          network: text('set_network', 'network', network),
          nictype: text('set_network', 'nic_type', nictype ?? ''),
          vlan_id: text('set_network', 'vlan', typeof vlan === 'number' ? String(vlan) : (vlan ?? '')),
        }),
      ),
    log_info: (line) => this.#say('info', line),
    log_warn: (line) => this.#say('warn', line),
    log_error: (line) => this.#say('error', line),
  };

  get result(): ProgramResult {
    return { choices: this.#choices, log: this.#log };
  }

  #choose(choice: Choice): void {
    const isSame = (other: Choice): boolean => keyOf(other) === keyOf(choice);
    const before = this.#choices.findIndex(isSame);
    if (before >= 0) this.#choices.splice(before, 1);
    this.#choices.push(choice);
  }

  #say(level: LogLine['level'], line: Argument): void {
    if (this.#log.length >= limits.logLines) return;
    const isLast = this.#log.length === limits.logLines - 1;
    const said = text(`log_${level}`, 'line', line).slice(0, limits.logCharacters);
    this.#log.push(isLast ? { level: 'warn', text: 'the program says more than this' } : { level, text: said });
  }
}

function keyOf(choice: Choice): string {
  switch (choice.kind) {
    case 'pool':
      return `pool ${choice.disk}`;
    case 'network':
      return `network ${choice.mac}`;
    default:
      return choice.kind;
  }
}

function text(called: string, parameter: string, value: Argument): string {
  if (typeof value === 'string') return value;
  const found = value === unreadable ? 'an object' : value === undefined ? 'missing' : String(value);
  throw new ChoiceError(`${called}: ${parameter} must be a text, it is ${found}`);
}
