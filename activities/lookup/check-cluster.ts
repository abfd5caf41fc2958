import type { Check, EndpointInfo } from '../../workflows/contracts/lookup.ts';
import { ClusterError, type Cluster } from '../kubernetes/port.ts';
import { resources } from '../kubernetes/resources.ts';
import type { ConfigFile } from '../schemas/config.ts';
import { vmopOf } from '../vmop/objects.ts';
import { checkSets } from './check-sets.ts';
import { missingAccess, type ClusterUse } from './cluster-access.ts';

/** An operation that nobody has looked at for longer than this has been overlooked. */
const overlookedMs = 60_000;

/** Reachable and trusted, kinds known, allowed, guarded by the webhook, watched by the bridge: one line each. */
export async function checkCluster(cluster: Cluster, { url, user }: EndpointInfo, file: ConfigFile): Promise<Check[]> {
  // Without a registry there are no sets, and perhaps not even their kinds.
  const use = { hasSets: Object.keys(file.registries).length > 0 };
  let missing: readonly string[];
  try {
    missing = await missingAccess(cluster, use);
  } catch (err) {
    return [failedLogIn(err, url)];
  }
  const kinds = await checkKinds(cluster, use);
  const checks = [{ name: 'log in', ok: true, detail: `${url} as ${user}` }, kinds, access(missing)];
  // What follows acts on these kinds.
  if (!kinds.ok) return checks;
  const ofSets = use.hasSets ? await checkSets(cluster, file) : [];
  return [
    ...checks,
    ...ofSets,
    await checkWebhook(cluster, file.webhook !== undefined),
    ...(await checkIntake(cluster)),
  ];
}

function failedLogIn(err: unknown, url: string): Check {
  const detail = err instanceof Error ? err.message : String(err);
  const known = err instanceof ClusterError ? err.reason : undefined;
  if (known === 'Unauthorized' || known === 'Forbidden') {
    const remedy = 'renew the credentials of the cluster that vmflow.yaml refers to';
    return { name: 'log in', ok: false, detail, failure: 'forbidden', remedy };
  }
  const isUntrusted = /certificate|self-signed|altname/i.test(detail);
  const remedy = isUntrusted
    ? `put the authority that signed the certificate of ${url} into the kubeconfig (certificate-authority-data)`
    : 'check server in the kubeconfig, network and firewall between the workers and the API server';
  return { name: isUntrusted ? 'certificate' : 'log in', ok: false, detail, failure: 'unreachable', remedy };
}

/** A question for an object that isn't there tells "no such object" from "no such kind". */
async function checkKinds(cluster: Cluster, { hasSets }: ClusterUse): Promise<Check> {
  const { vmop, vm, machine, instance, migration, set, hibernation } = resources;
  const wanted = [vmop, vm, machine, instance, migration, ...(hasSets ? [set, hibernation] : [])];
  const asked = await Promise.all(wanted.map((kind) => knows(cluster, kind)));
  const unknown = asked.filter((kind) => kind !== undefined);
  const name = 'resource definitions';
  if (unknown.length === 0) return { name, ok: true, detail: `all ${asked.length}` };
  return {
    name,
    ok: false,
    detail: `the API server doesn't know ${unknown.map(({ plural, group }) => `${plural}.${group}`).join(', ')}`,
    failure: 'wrong',
    remedy: `kubectl apply ${definitionsOf(unknown, wanted.length)}`,
  };
}

/** Their files; a cluster that has some of the kinds has its own definitions of those. */
function definitionsOf(unknown: readonly { readonly plural: string }[], wanted: number): string {
  const folder = 'workers/deploy/crds';
  if (unknown.length === wanted) return `-f ${folder}`;
  return unknown.map(({ plural }) => `-f ${folder}/${plural}.yaml`).join(' ');
}

/** The kind when it isn't known. One that may not be read is known. */
async function knows(
  cluster: Cluster,
  kind: (typeof resources)[keyof typeof resources],
): Promise<typeof kind | undefined> {
  try {
    await cluster.get(kind, 'default', 'vmflow-looks-for-its-kinds');
    return undefined;
  } catch (err) {
    return err instanceof ClusterError && err.reason === 'NotFound' ? kind : undefined;
  }
}

function access(missing: readonly string[]): Check {
  const name = 'permissions';
  if (missing.length === 0) return { name, ok: true, detail: 'all that workers need' };
  const remedy =
    'apply the overlay of workers/deploy again, or workers/deploy/rbac/vmflow.yaml with the account of the workers among its subjects';
  return { name, ok: false, detail: `missing: ${missing.join(', ')}`, failure: 'forbidden', remedy };
}

/**
 * A dry run of an operation that only the webhook refuses: its node selector is no label. Nothing is created. Who answers is the
 * bridge. `isWanted`: the configuration has a section for it.
 */
async function checkWebhook(cluster: Cluster, isWanted: boolean): Promise<Check> {
  const name = 'admission webhook';
  const probe = {
    metadata: { generateName: 'vmflow-probe-', namespace: 'default' },
    spec: { type: 'Migrate', virtualMachineName: 'vmflow-probe', migrate: { nodeSelector: { 'not a label': 'x' } } },
  };
  try {
    await cluster.create(resources.vmop, 'default', probe, { dryRun: true });
    const meaning = 'an operation that breaks the rules is created and ends Failed instead of being refused';
    if (!isWanted) return { name, ok: true, detail: `none is configured: ${meaning}` };
    const remedy = 'start the bridge: it installs the webhook, and says in its log if it may not (workers/deploy/rbac)';
    return { name, ok: false, detail: `not in effect: ${meaning}`, failure: 'wrong', remedy };
  } catch (err) {
    if (!(err instanceof ClusterError)) throw err;
    if (err.reason === 'Denied') return { name, ok: true, detail: 'installed, and the bridge answers' };
    const isSilent = err.reason === 'Unavailable';
    if (isSilent && /x509|certificate/i.test(err.message))
      return {
        name,
        ok: false,
        detail: `the API server doesn't trust the bridge: ${err.message}`,
        failure: 'unreachable',
        remedy:
          'let the bridge publish its certificate: its log says if it may not (workers/deploy/rbac). With webhook.certFile, caFile has to be the authority of that certificate',
      };
    return {
      name,
      ok: false,
      detail: isSilent ? `the bridge doesn't answer it: ${err.message}` : err.message,
      failure: isSilent ? 'unreachable' : 'wrong',
      remedy: isSilent ? 'start the bridge; until then no operation can be created' : 'vmflow endpoint check cluster',
    };
  }
}

/** Objects that somebody made and nobody took up. */
async function checkIntake(cluster: Cluster): Promise<Check[]> {
  const name = 'intake';
  try {
    const overlooked = (await cluster.list(resources.vmop))
      .map((object) => vmopOf(object))
      .filter(({ phase, ref }) => phase === undefined && Date.now() - Date.parse(ref.createdAt) > overlookedMs);
    const [first] = overlooked;
    if (first === undefined) return [{ name, ok: true, detail: 'no operation is overlooked' }];
    return [
      {
        name,
        ok: false,
        detail: `${overlooked.length} operations have been waiting for more than a minute, ${first.ref.namespace}/${first.ref.name} among them`,
        failure: 'wrong',
        remedy: 'start the bridge, and vmflow admin setup for the schedule that finds what was overlooked',
      },
    ];
  } catch (err) {
    // Without the right to list them the permissions have said so.
    if (err instanceof ClusterError) return [];
    throw err;
  }
}
