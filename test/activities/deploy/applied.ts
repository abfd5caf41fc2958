import type { AdminAnswer, KubernetesAdmin } from '../../stack/kubernetes-admin.ts';
import type { Manifest } from './kustomized.ts';

interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** What an object needs to be there before it. */
const firstOf = ['Namespace', 'CustomResourceDefinition'];

/** Server-side apply of everything; a field that the API doesn't know is an error. Fails with the server's words. */
export async function applyStrictly(admin: KubernetesAdmin, manifests: readonly Manifest[]): Promise<void> {
  const place = ({ kind }: Manifest): number => (firstOf.includes(kind) ? firstOf.indexOf(kind) : firstOf.length);
  for (const manifest of [...manifests].sort((a, b) => place(a) - place(b))) {
    const { status, body } = await applyOne(admin, manifest);
    if (status >= 300) throw new Error(`${manifest.kind} ${manifest.metadata.name}: ${JSON.stringify(body)}`);
  }
}

/** What the API server answers to one apply. */
export async function applyOne(admin: KubernetesAdmin, manifest: Manifest): Promise<AdminAnswer> {
  const path = `${await pathOf(admin, manifest)}?fieldManager=kubectl&fieldValidation=Strict`;
  return await admin.send('PATCH', path, manifest, 'application/apply-patch+yaml');
}

async function pathOf(admin: KubernetesAdmin, { apiVersion, kind, metadata }: Manifest): Promise<string> {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const { body } = await admin.send('GET', root);
  const { resources = [] } = body as { readonly resources?: readonly ApiResource[] };
  const resource = resources.find(({ name, kind: one }) => one === kind && !name.includes('/'));
  if (resource === undefined) throw new Error(`The API server knows no ${kind} in ${apiVersion}.`);
  if (resource.namespaced !== (metadata.namespace !== undefined))
    throw new Error(`${kind} ${metadata.name} ${resource.namespaced ? 'needs a' : 'has no'} namespace.`);
  const namespace = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  return `${root}${namespace}/${resource.name}/${metadata.name}`;
}
