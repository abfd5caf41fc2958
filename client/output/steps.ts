import type { Step, StepState } from '../../workflows/contracts/status.ts';
import type { Paint } from './colors.ts';

/** Sign and word of a step's state; the word is for those who read without colour or signs. */
export const stepLooks: Readonly<Record<StepState, { sign: string; word: string }>> = {
  done: { sign: '✓', word: 'done' },
  active: { sign: '●', word: 'running' },
  pending: { sign: '○', word: 'to come' },
  skipped: { sign: '–', word: 'skipped' },
  failed: { sign: '✗', word: 'failed' },
};

const wordWidth = 9;

/** The whole step list, one line each. `activeDetail` stands beside the running step. */
export function renderSteps(steps: readonly Step[], paint: Paint, activeDetail?: string): string[] {
  const titleWidth = Math.max(0, ...steps.map((step) => step.title.length));
  return steps.map((step) => {
    const { sign, word } = stepLooks[step.state];
    const detail = step.state === 'active' ? (activeDetail ?? step.detail) : step.detail;
    const title = detail === undefined ? step.title : step.title.padEnd(titleWidth);
    return `  ${paintState(step.state, paint)(`${sign} ${word.padEnd(wordWidth)}`)}${title}${detail === undefined ? '' : `  ${detail}`}`;
  });
}

function paintState(state: StepState, paint: Paint): (text: string) => string {
  switch (state) {
    case 'done':
      return paint.green;
    case 'active':
      return paint.cyan;
    case 'failed':
      return paint.red;
    case 'pending':
    case 'skipped':
      return paint.dim;
  }
}
