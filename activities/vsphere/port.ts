import type { MoRef } from '../../workflows/domain/template/observation.ts';
import type { VmCalls } from './vm-port.ts';

export type { MoRef };

/** How the server's certificate is proven. `insecure` needs the worker's own opt-in besides. */
export type TlsPolicy =
  | { readonly mode: 'ca'; readonly caFile?: string }
  | { readonly mode: 'thumbprint'; readonly sha256?: string; readonly sha1?: string }
  | { readonly mode: 'insecure' };

/** One vCenter of `vmflow.yaml` with its secret resolved. Never logged, never put into a workflow. */
export interface VCenterEndpoint {
  readonly name: string;
  /** `https://host[:port]/sdk` */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly tls: TlsPolicy;
  /** Tests only. */
  readonly allowPlainHttp?: boolean;
  /** Per SOAP call; default 60000. */
  readonly apiTimeoutMs?: number;
}

export interface About {
  readonly apiVersion: string;
  readonly apiType: string;
  readonly instanceUuid: string;
  readonly fullName: string;
}

/** Value of a property as decoded: strings, numbers, booleans, references, lists, plain objects with a `_type` for polymorphic ones. */
export type PropertyValue = unknown;

export interface ObjectContent {
  readonly ref: MoRef;
  /** Property path → value. A path the object doesn't have is absent. */
  readonly props: ReadonlyMap<string, PropertyValue>;
}

export interface ImportFileItem {
  readonly deviceId: string;
  readonly path: string;
  readonly size?: number;
  readonly create: boolean;
}

export interface ImportSpecParams {
  readonly ovfDescriptor: string;
  readonly resourcePool: MoRef;
  readonly datastore: MoRef;
  readonly host: MoRef;
  readonly entityName: string;
  readonly networkMapping: readonly { readonly name: string; readonly network: MoRef }[];
  /** Absent: the server's default. */
  readonly diskProvisioning?: 'thin' | 'thick' | 'eagerZeroedThick';
}

export interface ImportSpecResult {
  /** The `importSpec` element exactly as received, sliced out of the raw answer (not parsed and rebuilt). */
  readonly importSpecXml: string;
  readonly fileItems: readonly ImportFileItem[];
  readonly warnings: readonly string[];
  /** One line per entry of `error[]`: fault type and message. Not empty = the spec must not be used. */
  readonly errors: readonly string[];
}

export interface ImportSpecEdits {
  /** Inserted into `configSpec.extraConfig`. */
  readonly extraConfig: ReadonlyMap<string, string>;
  /** Empties the `fileName` of added disks that name a path below a directory. */
  readonly emptyDiskFileNames: boolean;
}

export interface LeaseDeviceUrl {
  readonly key: string;
  readonly importKey: string;
  /** A capability: never logged, never put into heartbeats or errors. */
  readonly url: string;
  readonly sslThumbprint?: string;
  readonly sslCertificate?: string;
  readonly isDisk: boolean;
  readonly targetId?: string;
}

export interface LeaseInfo {
  readonly entity: MoRef;
  readonly leaseTimeoutS: number;
  readonly deviceUrls: readonly LeaseDeviceUrl[];
}

export interface LeaseManifestEntry {
  readonly key: string;
  readonly sha1?: string;
  readonly checksum?: string;
  readonly checksumType?: string;
  readonly size: number;
}

export interface VmReconfiguration {
  readonly annotation?: string;
  readonly extraConfig?: ReadonlyMap<string, string>;
  /** Sent back complete as read, with `efiSecureBootEnabled` changed. */
  readonly bootOptions?: Readonly<Record<string, unknown>>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Overrides the endpoint's time-out for this call. */
  readonly timeoutMs?: number;
}

export interface UploadOptions {
  readonly method: 'POST' | 'PUT';
  /** `application/x-vnd.vmware-streamVmdk` for disks; absent otherwise. */
  readonly contentType?: string;
  readonly overwrite?: boolean;
  /** Exact length of `body`; always sent as Content-Length, never chunked. */
  readonly length: number;
  readonly body: AsyncIterable<Uint8Array>;
  /** No byte accepted by the socket for this long: `UPLOAD_STALLED`. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
  /** Called with the bytes the socket has accepted so far. */
  readonly onSent: (bytes: number) => void;
}

export interface Tag {
  /** `urn:vmomi:InventoryServiceTag:…` */
  readonly id: string;
  readonly name: string;
  readonly category: string;
}

/** What the activities need of one logged-in vCenter session. Failures: `VimFault`, `VSphereError` (see `faults.ts`). */
export interface VSphereSession {
  readonly about: About;
  readonly rootFolder: MoRef;
  /** Reads the server's clock, ISO 8601; proves that the session lives (logs in again if it doesn't). */
  currentTime(options?: CallOptions): Promise<string>;
  findByInventoryPath(path: string, options?: CallOptions): Promise<MoRef | undefined>;
  /** `name` in wire form. Nil answer = undefined; every other failure throws. */
  findChild(parent: MoRef, name: string, options?: CallOptions): Promise<MoRef | undefined>;
  /** One RetrievePropertiesEx over all references, tokens followed. Throws ManagedObjectNotFound if one is gone; NotAuthenticated in a missingSet logs in again. */
  retrieve(refs: readonly MoRef[], paths: readonly string[], options?: CallOptions): Promise<readonly ObjectContent[]>;
  createImportSpec(params: ImportSpecParams, options?: CallOptions): Promise<ImportSpecResult>;
  /** Returns the lease. `importSpecXml` is edited (see `ImportSpecEdits`) and passed on as raw XML. */
  importVApp(
    pool: MoRef,
    importSpecXml: string,
    edits: ImportSpecEdits,
    folder: MoRef,
    host: MoRef,
    options?: CallOptions,
  ): Promise<MoRef>;
  /** Reads the state first, then waits. Rejects with `LeaseError` carrying the lease's fault when the lease is in error. */
  waitForLease(lease: MoRef, options: CallOptions): Promise<LeaseInfo>;
  /** Lease calls are never replayed on a new session: a lost session is `LEASE_LOST`. */
  leaseProgress(lease: MoRef, percent: number, options?: CallOptions): Promise<void>;
  leaseComplete(lease: MoRef, options?: CallOptions): Promise<void>;
  leaseAbort(lease: MoRef, options?: CallOptions): Promise<void>;
  leaseManifest(lease: MoRef, options?: CallOptions): Promise<readonly LeaseManifestEntry[]>;
  /** Sends one file to a device URL of a lease (TLS by the rules of the template spec §14.8; host `*` replaced). Resolves with the server's status 200 or 201. */
  upload(device: LeaseDeviceUrl, options: UploadOptions): Promise<{ readonly status: number }>;
  /** Each `start…` sends the call and returns the task; `waitForTask` waits for its end. */
  startRename(ref: MoRef, newName: string, options?: CallOptions): Promise<MoRef>;
  startDestroy(ref: MoRef, options?: CallOptions): Promise<MoRef>;
  startReconfigure(vm: MoRef, change: VmReconfiguration, options?: CallOptions): Promise<MoRef>;
  /** Polls 0, 2, 5, 10, 20 … 50 ms for the first 500 ms, then WaitForUpdatesEx on a collector of its own. Throws `VimFault` with kind `task-error`. */
  waitForTask(task: MoRef, options?: CallOptions): Promise<void>;
  markAsTemplate(vm: MoRef, options?: CallOptions): Promise<void>;
  markAsVirtualMachine(vm: MoRef, pool: MoRef, host: MoRef | undefined, options?: CallOptions): Promise<void>;
  /** All tags with their categories. Opens the REST session when first needed. */
  listTags(options?: CallOptions): Promise<readonly Tag[]>;
  attachedTags(ref: MoRef, options?: CallOptions): Promise<readonly string[]>;
  attachTag(tagId: string, ref: MoRef, options?: CallOptions): Promise<void>;
  /** What is needed besides for VMs that are migrated away. */
  readonly vms: VmCalls;
  /** Logs out of SOAP and REST; never throws. */
  close(): Promise<void>;
}

/** Hands out sessions: one per call of `open`, logged in lazily; the caller closes it. `withSession` keeps a pooled one per vCenter. */
export interface VSphere {
  /** A session of its own, for work whose objects belong to the session (import leases). */
  open(endpoint: VCenterEndpoint): Promise<VSphereSession>;
  /** Runs `work` on the pooled session of this vCenter. */
  withSession<T>(endpoint: VCenterEndpoint, work: (session: VSphereSession) => Promise<T>): Promise<T>;
  /** Logs every pooled session out. */
  close(): Promise<void>;
}
