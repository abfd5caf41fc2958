/** Which kind of object: its path in the API. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly {
    readonly uid: string;
    readonly kind: string;
    readonly name: string;
    readonly controller?: boolean;
  }[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export type ClusterErrorReason =
  /** 404 */
  | 'NotFound'
  /** 409 on create */
  | 'AlreadyExists'
  /** 409, or 422 without causes: a compare-and-set lost; read again. */
  | 'Conflict'
  /** 422 with causes: schema or rule. */
  | 'Invalid'
  /** 403 by RBAC */
  | 'Forbidden'
  /** 403 by an admission webhook */
  | 'Denied'
  | 'Unauthorized'
  | 'TooManyRequests'
  /** 5xx, network, time-out, webhook down: nothing is known about the effect. */
  | 'Unavailable'
  | 'Other';

/** A request that the API server refused or that didn't reach it. Its message has no headers and no tokens. */
export class ClusterError extends Error {
  override readonly name = 'ClusterError';
  readonly reason: ClusterErrorReason;
  readonly status: number | undefined;
  readonly retryAfterS: number | undefined;

  constructor(
    reason: ClusterErrorReason,
    message: string,
    init: { status?: number | undefined; retryAfterS?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: init.cause });
    this.reason = reason;
    this.status = init.status;
    this.retryAfterS = init.retryAfterS;
  }
}

/**
 * What the activities and the bridge need of a Kubernetes API. Every call has a deadline. Fails with `ClusterError`. Objects that
 * have no namespace are in `''`.
 */
export interface Cluster {
  /** Undefined only when the API server says that it isn't there. */
  get(resource: Resource, namespace: string, name: string): Promise<KubeObject | undefined>;
  /** A quorum read, never from a cache. `namespace` absent: all. */
  list(resource: Resource, namespace?: string, labelSelector?: string): Promise<readonly KubeObject[]>;
  /** `namespace` undefined: of a kind that has none. */
  create(
    resource: Resource,
    namespace: string | undefined,
    body: object,
    options?: { readonly dryRun?: boolean },
  ): Promise<KubeObject>;
  /** Server-side apply under this name: creates the object or makes it hold what is given. */
  apply(resource: Resource, namespace: string, name: string, body: object): Promise<KubeObject>;
  /** JSON patch: all operations or none. `status` patches the subresource. */
  patch(
    resource: Resource,
    namespace: string,
    name: string,
    operations: readonly JsonPatchOperation[],
    options?: { readonly status?: boolean },
  ): Promise<KubeObject>;
  /** "Not found" is an answer, not an error: false. A failed precondition is `Conflict`. */
  remove(
    resource: Resource,
    namespace: string,
    name: string,
    preconditions?: Preconditions,
    gracePeriodSeconds?: number,
  ): Promise<boolean>;
  /** The shared watch of one kind, started when first asked for. */
  watch(resource: Resource): ResourceWatch;
  close(): Promise<void>;
}

/** One watch per kind and process; survives disconnects by listing again. */
export interface ResourceWatch {
  /** Resolves when the first list is in. */
  readonly ready: Promise<void>;
  get(namespace: string, name: string): KubeObject | undefined;
  items(): readonly KubeObject[];
  /** Called for each change; a re-created object comes as `deleted` and `added`. Returns how to stop. */
  subscribe(
    listener: (change: { readonly type: 'added' | 'modified' | 'deleted'; readonly object: KubeObject }) => void,
  ): () => void;
}
