import type { Need } from '../../activities/lookup/cluster-access.ts';
import { resources } from '../../activities/kubernetes/resources.ts';

/** What the bridge asks of the cluster: it watches, the webhook judges by VM and operations, and keeps its configuration. */
export const bridgeNeeds: readonly (Need & { readonly name?: string })[] = [
  { resource: resources.vmop, verbs: ['list', 'watch'] },
  { resource: resources.vm, verbs: ['get'] },
  { resource: resources.set, verbs: ['list', 'watch'] },
  { resource: resources.hibernation, verbs: ['list', 'watch'] },
  { resource: resources.pod, verbs: ['list', 'watch'] },
  {
    resource: {
      group: 'admissionregistration.k8s.io',
      version: 'v1',
      plural: 'validatingwebhookconfigurations',
      kind: 'ValidatingWebhookConfiguration',
    },
    name: 'vmflow',
    verbs: ['get', 'create', 'patch'],
  },
];
