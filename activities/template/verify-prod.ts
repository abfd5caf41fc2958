import type { TemplateActivities } from '../../workflows/contracts/activities.ts';
import { OperationError } from '../failures.ts';
import { onVCenter } from '../vsphere/on-vcenter.ts';
import type { TemplateDeps } from './deps.ts';
import { observeNames } from './observe.ts';

/** Looks once more at what the production name stands for now. */
export function createVerifyProd(deps: TemplateDeps): TemplateActivities['verifyProd'] {
  return async ({ scope, expected }) => {
    const observation = await onVCenter(deps, scope.vcenter, `verify template ${scope.names.prod}`, (session) =>
      observeNames(session, scope),
    );
    const { prod } = observation;
    if (prod?.ref.value === expected.value && prod.isTemplate && prod.version === scope.target.version)
      return observation;
    const found =
      prod === undefined
        ? 'nothing'
        : `${prod.ref.value}, ${prod.isTemplate ? 'a template' : 'no template'}, version ${prod.version ?? 'unknown'}`;
    throw new OperationError(
      'Conflict',
      `"${scope.names.prod}" should be ${expected.value} at ${scope.target.version}, but is ${found}`,
      {
        code: 'VERIFY_FAILED',
        facts: { expected: expected.value, found },
      },
    );
  };
}
