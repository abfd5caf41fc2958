import type { TemplateActivities } from '../../workflows/contracts/activities.ts';
import type { TemplateDeps } from './deps.ts';
import { observeNames } from './observe.ts';

export function createObserve(deps: TemplateDeps): TemplateActivities['observe'] {
  return async (scope) => {
    const endpoint = await deps.config.vcenter(scope.vcenter);
    return await deps.vsphere.withSession(endpoint, (session) => observeNames(session, scope));
  };
}
