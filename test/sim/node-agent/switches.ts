import { faultNames, type FaultName } from './fault-names.ts';
import { isStep, steps } from './steps.ts';

/**
 * Annotations on a Pod or a Node that make its agent fail: `test/agent-save-fails` for the fault `saveFails` and so on. Values:
 * a number (how often), `true` (until it is removed), a duration (`500ms`, `3s`, `2m`: a delay, every time), or a number and a
 * duration (`3 500ms`). Of `test/agent-kill-at`: a step, once, and a duration after which the agent starts again (`hibernate-5 2s`).
 */
export const annotationOf = (name: FaultName): string =>
  `test/agent-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

export const faultAnnotations: readonly string[] = faultNames.map(annotationOf);

/** Annotation on a Node: its agent is silent while it is `true`, and the node's readiness then unknown. */
export const silentAnnotation = 'test/agent-silent';

export interface Parsed {
  readonly times: number;
  readonly delayMs: number;
  readonly step?: string;
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** Fails on what makes no sense: a fault with a typing error would be a test of nothing. */
export function parseFault(name: FaultName, text: string): Parsed {
  const words = text.trim().split(/\s+/);
  let parsed: Parsed = { times: name === 'killAt' ? 1 : Infinity, delayMs: 0 };
  for (const word of words) {
    const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(word) ?? [];
    if (name === 'killAt' && isStep(word)) parsed = { ...parsed, step: word };
    else if (digits === undefined && word !== 'true') throw unknownValue(name, text);
    else if (unit !== undefined) parsed = { ...parsed, delayMs: Number(digits) * (units[unit] ?? 1) };
    else if (digits !== undefined) parsed = { ...parsed, times: Number(digits) };
  }
  if (name === 'killAt' && parsed.step === undefined) throw unknownValue(name, text);
  return parsed;
}

function unknownValue(name: FaultName, text: string): Error {
  const how =
    name === 'killAt'
      ? `write a step, with a duration where the agent is to start again. Steps are: ${steps.join(', ')}`
      : 'write how often (3), true for ever, a duration (3s), or both';
  return new Error(`${annotationOf(name)}: "${text}" makes no sense: ${how}.`);
}
