import { X509Certificate } from 'node:crypto';
import {
  ClusterError,
  type Cluster,
  type JsonPatchOperation,
  type KubeObject,
  type Resource,
} from '../../activities/kubernetes/port.ts';
import { resources } from '../../activities/kubernetes/resources.ts';

/** Where the API server finds the webhook. */
export type WebhookTarget =
  | { readonly url: string }
  | {
      readonly service: {
        readonly namespace: string;
        readonly name: string;
        readonly path: string;
        readonly port: number;
      };
    };

export interface Webhook {
  readonly name: string;
  readonly clientConfig: { readonly caBundle?: string; readonly url?: string; readonly service?: object };
}

export const configurationName = 'vmflow';

const configurations: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
};

const webhookName = `vmops.${resources.vmop.group}`;

/** Only creations are asked about, and nothing is created without an answer. */
export function webhookFor(target: WebhookTarget, timeoutSeconds: number): Webhook & Readonly<Record<string, unknown>> {
  const { group, version, plural } = resources.vmop;
  return {
    name: webhookName,
    admissionReviewVersions: ['v1'],
    clientConfig: { ...target },
    rules: [
      { apiGroups: [group], apiVersions: [version], operations: ['CREATE'], resources: [plural], scope: 'Namespaced' },
    ],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    timeoutSeconds,
  };
}

export interface WantedConfiguration {
  readonly target: WebhookTarget;
  readonly timeoutSeconds: number;
  /** Certificates that the API server has to trust, PEM. Absent: somebody else writes the bundle. */
  readonly trust?: string;
}

/**
 * Makes the API server ask us: creates the configuration where it is missing, points it to us, and adds our certificate to what
 * it trusts. Other bridges do the same, so nothing that still holds is taken out, and every write fails if somebody else has
 * written since. The rest of the configuration is whoever's who wrote it.
 * @returns whether anything had to be written
 */
export async function ensureConfiguration(cluster: Cluster, wanted: WantedConfiguration): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ensureOnce(cluster, wanted);
    } catch (error) {
      // Another bridge was faster: look again.
      const isLost = error instanceof ClusterError && error.reason === 'Conflict';
      if (!isLost || attempt === longestRace) throw error;
    }
  }
}

const longestRace = 10;

async function ensureOnce(cluster: Cluster, wanted: WantedConfiguration): Promise<boolean> {
  const found = await cluster.get(configurations, '', configurationName);
  // An empty one is the same whoever applies it: two that create it at once don't undo each other's work.
  const object = found ?? (await cluster.apply(configurations, '', configurationName, {}));
  const patch = patchFor(object, wanted, new Date());
  if (patch.length > 0) await cluster.patch(configurations, '', configurationName, patch);
  return patch.length > 0;
}

/** What has to change; empty: nothing. */
export function patchFor(object: KubeObject, wanted: WantedConfiguration, now: Date): readonly JsonPatchOperation[] {
  const webhooks = (object as { readonly webhooks?: readonly Webhook[] }).webhooks ?? [];
  const index = webhooks.findIndex(({ name }) => name === webhookName);
  const before = webhooks[index];
  const ours = before ?? webhookFor(wanted.target, wanted.timeoutSeconds);
  const caBundle =
    wanted.trust === undefined ? ours.clientConfig.caBundle : bundleWith(ours.clientConfig.caBundle, wanted.trust, now);
  const clientConfig = { ...wanted.target, ...(caBundle === undefined ? {} : { caBundle }) };
  if (before !== undefined && isSame(before.clientConfig, clientConfig)) return [];
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: object.metadata.resourceVersion },
    before === undefined
      ? { op: 'add', path: '/webhooks', value: [...webhooks, { ...ours, clientConfig }] }
      : { op: 'replace', path: `/webhooks/${index}/clientConfig`, value: clientConfig },
  ];
}

/** The API server fills in defaults of a service: what we ask for has to be in it. */
function isSame(there: Webhook['clientConfig'], wanted: Webhook['clientConfig']): boolean {
  const holds = (a: object = {}, b: object = {}): boolean =>
    Object.entries(b).every(([key, value]) => (a as Readonly<Record<string, unknown>>)[key] === value);
  return there.caBundle === wanted.caBundle && there.url === wanted.url && holds(there.service, wanted.service);
}

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Bridges that come and go leave certificates behind until these end; more than this many are never alive at once. */
const longestBundle = 32;

/** The bundle (Base64 of PEM) with these certificates in it and without those that have ended. */
export function bundleWith(bundle: string | undefined, trust: string, now: Date): string {
  const alive = certificatesIn(Buffer.from(bundle ?? '', 'base64').toString('utf8')).filter(
    ({ validToDate }) => validToDate > now,
  );
  const missing = certificatesIn(trust).filter(
    (own) => !alive.some(({ fingerprint256 }) => fingerprint256 === own.fingerprint256),
  );
  const all = [...alive, ...missing].slice(-longestBundle);
  return Buffer.from(all.map((certificate) => certificate.toString()).join('')).toString('base64');
}

function certificatesIn(text: string): readonly X509Certificate[] {
  return (text.match(pem) ?? []).flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return []; // what can't be read can't be trusted by the API server either
    }
  });
}
