import type { FaultName } from './fault-names.ts';
import { annotationOf, parseFault, type Parsed } from './switches.ts';

export interface FaultOptions {
  /** Only for this VM name; default: all. */
  readonly vm?: string;
  /** Only on this node; default: on all. */
  readonly node?: string;
  /** How often it strikes; default 1, `Infinity` until it is cleared. */
  readonly times?: number;
  readonly delayMs?: number;
  /** Of each chance to strike, 0 to 1; default 1. */
  readonly probability?: number;
  /** Of `killAt`, see `steps`. */
  readonly step?: string;
}

export interface FaultHandle {
  /** How often it has struck. */
  struck(): number;
  clear(): void;
}

export interface Place {
  readonly vm: string;
  readonly node: string;
  readonly pod?: Readonly<Record<string, string>>;
}

/** The faults of all agents: a test sets them here, anybody else by annotations of a Pod or a Node. */
export interface Faults {
  set(name: FaultName, options?: FaultOptions): FaultHandle;
  clear(name?: FaultName): void;
  /** The fault strikes here and now: what is known of it; undefined: it doesn't. */
  take(name: FaultName, place: Place, step?: string): { readonly delayMs: number } | undefined;
  /** As `take`, but nothing is counted. */
  has(name: FaultName, place: Place): boolean;
}

/** @param nodeNotes annotations of a Node */
export function createFaults(nodeNotes: (node: string) => Readonly<Record<string, string>>): Faults {
  const rules = new Set<{ readonly name: FaultName; readonly options: FaultOptions; struck: number }>();
  /** How often annotations struck, by annotation, its value and what carries it. */
  const noted = new Map<string, number>();

  function ruleOf(name: FaultName, place: Place, step?: string) {
    return [...rules].find(
      ({ name: of, options, struck }) =>
        of === name &&
        (options.vm === undefined || options.vm === place.vm) &&
        (options.node === undefined || options.node === place.node) &&
        (options.step === undefined || options.step === step) &&
        struck < (options.times ?? 1),
    );
  }

  function noteOf(name: FaultName, place: Place, step?: string): (Parsed & { readonly key: string }) | undefined {
    const annotation = annotationOf(name);
    const [onPod, onNode] = [place.pod?.[annotation], nodeNotes(place.node)[annotation]];
    const text = onPod ?? onNode;
    if (text === undefined) return undefined;
    const parsed = parseFault(name, text);
    const key = `${onPod === undefined ? place.node : place.vm} ${annotation} ${text}`;
    if (parsed.step !== undefined && parsed.step !== step) return undefined;
    return (noted.get(key) ?? 0) < parsed.times ? { ...parsed, key } : undefined;
  }

  return {
    set(name, options = {}) {
      const rule = { name, options, struck: 0 };
      rules.add(rule);
      return { struck: () => rule.struck, clear: () => void rules.delete(rule) };
    },
    clear(name) {
      for (const rule of rules) if (name === undefined || rule.name === name) rules.delete(rule);
    },
    take(name, place, step) {
      const rule = ruleOf(name, place, step);
      if (rule !== undefined) {
        if (Math.random() >= (rule.options.probability ?? 1)) return undefined;
        rule.struck += 1;
        return { delayMs: rule.options.delayMs ?? 0 };
      }
      const note = noteOf(name, place, step);
      if (note === undefined) return undefined;
      noted.set(note.key, (noted.get(note.key) ?? 0) + 1);
      return { delayMs: note.delayMs };
    },
    has: (name, place) => ruleOf(name, place) !== undefined || noteOf(name, place) !== undefined,
  };
}
