import type { TemplateActivities } from '../../workflows/contracts/activities.ts';
import { onVCenter } from '../vsphere/on-vcenter.ts';
import type { TemplateDeps } from './deps.ts';
import { chooseHost } from './hosts.ts';
import { resolvePlacement } from './placement.ts';
import { checkDatastore } from './space.ts';
import { resolveTags } from './tags.ts';

/** Everything knowable is checked before the first change. */
export function createPreflight(deps: TemplateDeps): TemplateActivities['preflight'] {
  return async ({ request }) => {
    return await onVCenter(
      deps,
      request.vcenter,
      `check template ${request.template.prodName} and its placement`,
      async (session) => {
        const { hosts, ...refs } = await resolvePlacement(session, request.placement);
        const tagIds = await resolveTags(session, request.options.tags);
        const host = await chooseHost(session, { ...refs, hosts }, request.placement.host);
        await checkDatastore(session, refs.datastore, request.placement.datastore, 0);
        return { ...refs, hostName: host.name, tagIds, warnings: [] };
      },
    );
  };
}
