import type { TemplateActivities } from '../../workflows/contracts/activities.ts';
import { onVCenter } from '../vsphere/on-vcenter.ts';
import type { TemplateDeps } from './deps.ts';
import { observeNames } from './observe.ts';

export function createObserve(deps: TemplateDeps): TemplateActivities['observe'] {
  return async (scope) => {
    return await onVCenter(deps, scope.vcenter, `look at template ${scope.names.prod}`, (session) =>
      observeNames(session, scope),
    );
  };
}
