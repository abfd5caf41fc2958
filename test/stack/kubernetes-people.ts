import type { Manifest } from './kubernetes-admin.ts';

const binding = (name: string, role: string, user: string): Manifest & Readonly<Record<string, unknown>> => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
});

const vmLayerRole: Manifest & Readonly<Record<string, unknown>> = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'test-vm-layer' },
  rules: [
    {
      apiGroups: ['virtualization.deckhouse.io', 'internal.virtualization.deckhouse.io'],
      resources: ['*'],
      verbs: ['*'],
    },
    { apiGroups: [''], resources: ['events', 'nodes', 'pods'], verbs: ['*'] },
  ],
};

const nodeAgentRole: Manifest & Readonly<Record<string, unknown>> = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'test-node-agent' },
  rules: [
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'update', 'patch', 'delete'] },
    { apiGroups: [''], resources: ['pods/status', 'nodes/status'], verbs: ['update', 'patch'] },
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  ],
};

/** A cluster's own business, so not in workers/deploy. */
export const peopleOfTheTests: readonly Manifest[] = [
  vmLayerRole,
  nodeAgentRole,
  binding('test-viewer', 'vmflow-viewer', 'viewer'),
  binding('test-operator', 'vmflow-operator', 'operator'),
  binding('test-operator-sees', 'vmflow-viewer', 'operator'),
  binding('test-vm-layer', 'test-vm-layer', 'vm-layer'),
  binding('test-node-agent', 'test-node-agent', 'node-agent'),
];
