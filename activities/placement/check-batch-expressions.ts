import type { SpecProblem } from '../../workflows/contracts/batch-activities.ts';
import type { BatchSpec, PlacementRule } from '../../workflows/domain/batch/records.ts';
import { compileExpression, ExpressionError, type Subject } from './expression/expression.ts';
import { programs } from './program/programs.ts';

/** Everything in a batch that is evaluated: what of it could never be, with its path into the batch and the place in its text. */
export async function checkBatchExpressions(spec: BatchSpec): Promise<readonly SpecProblem[]> {
  return [...expressionsOf(spec).flatMap(problemOf), ...(await programProblems(spec))];
}

interface Located {
  readonly path: string;
  readonly text: string;
  readonly subject: Subject;
}

function expressionsOf({ include_expression, constraints, placement_rules }: BatchSpec): readonly Located[] {
  return [
    { path: 'include_expression', text: include_expression, subject: 'instance' },
    ...constraints.map((constraint, i): Located => ({
      path: `constraints[${i}].include_expression`,
      text: constraint.include_expression,
      subject: 'instance',
    })),
    ...placement_rules.flatMap((rule, i) => expressionsOfRule(rule, `placement_rules[${i}]`)),
  ];
}

function expressionsOfRule({ when, set }: PlacementRule, path: string): readonly Located[] {
  return [
    { path: `${path}.when`, text: when, subject: 'instance' },
    ...(set.pool?.by_disk ?? []).map(({ when_disk }, i): Located => ({
      path: `${path}.set.pool.by_disk[${i}].when_disk`,
      text: when_disk,
      subject: 'disk',
    })),
    ...(set.network ?? []).map(({ when_nic }, i): Located => ({
      path: `${path}.set.network[${i}].when_nic`,
      text: when_nic,
      subject: 'nic',
    })),
  ];
}

function problemOf({ path, text, subject }: Located): readonly SpecProblem[] {
  try {
    compileExpression(text, subject);
    return [];
  } catch (err) {
    if (!(err instanceof ExpressionError)) throw err;
    return [{ path, message: err.problem, line: err.line, column: err.column }];
  }
}

async function programProblems({ config }: BatchSpec): Promise<readonly SpecProblem[]> {
  const source = config.placement_scriptlet;
  if (source.trim() === '') return [];
  const problem = await programs.check(source);
  return problem === undefined ? [] : [{ path: 'config.placement_scriptlet', ...problem }];
}
