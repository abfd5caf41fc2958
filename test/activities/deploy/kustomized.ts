import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { findTool } from '../../stack/tool.ts';
import { tools } from '../../stack/tools.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export const overlays = ['single', 'ha'] as const;

export const deployDir = fileURLToPath(new URL('../../../workers/deploy', import.meta.url));

/** All objects that kustomize makes of a folder of workers/deploy, or of a copy of that. Fails with its words. */
export async function kustomized(folder: string, cwd: string = deployDir): Promise<readonly Manifest[]> {
  const kustomize = await findTool(tools.kustomize);
  const { stdout } = await promisify(execFile)(kustomize, ['build', folder], { cwd });
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

/** Kinds that the tests look into. */
interface Kinds {
  readonly Deployment: { readonly spec: { readonly replicas: number; readonly template: PodTemplate } };
  readonly ClusterRole: { readonly rules: readonly Rule[] };
  readonly ClusterRoleBinding: {
    readonly roleRef: { readonly name: string };
    readonly subjects: readonly { readonly kind: string; readonly name: string; readonly namespace: string }[];
  };
  readonly ConfigMap: { readonly data: Readonly<Record<string, string>> };
  readonly NetworkPolicy: { readonly spec: NetworkPolicySpec };
  readonly PodDisruptionBudget: { readonly spec: { readonly selector: Selector } };
  readonly Service: {
    readonly spec: {
      readonly selector: Selector['matchLabels'];
      readonly ports: readonly { readonly targetPort: number }[];
    };
  };
  readonly ServiceAccount: object;
}

export function ofKind<K extends keyof Kinds>(
  manifests: readonly Manifest[],
  kind: K,
): readonly (Manifest & Kinds[K])[] {
  return manifests.filter((manifest): manifest is Manifest & Kinds[K] => manifest.kind === kind);
}

export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
}

interface NetworkPolicySpec {
  readonly podSelector: Selector;
  readonly ingress?: readonly { readonly ports: readonly { readonly port: string }[] }[];
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

export interface Container {
  readonly image: string;
  readonly command: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly envFrom: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
}

export interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly secret?: { readonly secretName: string };
  readonly emptyDir?: object;
}

export interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly serviceAccountName: string;
    readonly automountServiceAccountToken: boolean;
    readonly terminationGracePeriodSeconds: number;
    readonly securityContext: Readonly<Record<string, unknown>>;
    readonly affinity?: {
      readonly podAntiAffinity: {
        readonly requiredDuringSchedulingIgnoredDuringExecution: readonly {
          readonly topologyKey: string;
          readonly labelSelector: Selector;
        }[];
      };
    };
    readonly containers: readonly [Container];
    readonly volumes: readonly Volume[];
  };
}
