import type { Check } from '../../workflows/contracts/lookup.ts';
import type { Paint } from './colors.ts';
import type { Column } from './table.ts';

/** Columns of every table of checks: a word beside the colour, and the remedy. */
export function checkColumns(paint: Paint): readonly Column<Check>[] {
  return [
    { header: 'CHECK', cell: (check) => check.name },
    { header: 'RESULT', cell: (check) => (check.ok ? paint.green('ok') : paint.red('FAILED')) },
    { header: 'DETAIL', cell: (check) => check.detail },
    { header: 'REMEDY', cell: (check) => (check.ok ? '' : check.remedy) },
  ];
}
