import type { FaultInfo } from '../../workflows/contracts/failures.ts';

/** How a caller should react to a failure of vCenter; see `classify`. */
export type Reaction = 'retry' | 'retry-long' | 'relogin' | 'reobserve' | 'gone' | 'permanent';

/** A fault that vCenter reported: by a call, by a task or by a lease. Decide on its type, never on its text. */
export class VimFault extends Error {
  override readonly name = 'VimFault';
  readonly kind: 'vim-fault' | 'task-error' | 'lease-error';
  /** For example `InvalidArgument`. */
  readonly faultType: string;
  /** Decoded fields of the fault, for example `{ invalidProperty: 'name' }`. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly method: string;
  readonly moRef: string | undefined;

  constructor(init: {
    kind: VimFault['kind'];
    faultType: string;
    fields?: Readonly<Record<string, unknown>>;
    method: string;
    moRef?: string | undefined;
    message?: string | undefined;
    cause?: unknown;
  }) {
    super(init.message ?? `${init.method} failed with ${init.faultType}`, { cause: init.cause });
    this.kind = init.kind;
    this.faultType = init.faultType;
    this.fields = init.fields ?? {};
    this.method = init.method;
    this.moRef = init.moRef;
  }
}

/** A failure that is not a fault of vCenter: transport, TLS, HTTP status, REST, protocol. `code` is the spec's code. */
export class VSphereError extends Error {
  override readonly name = 'VSphereError';
  readonly code:
    | 'TRANSPORT'
    | 'TIMEOUT'
    | 'HTTP'
    | 'TLS_CA'
    | 'TLS_THUMBPRINT'
    | 'TLS_INSECURE_FORBIDDEN'
    | 'NFC_TLS'
    | 'NOT_VCENTER'
    | 'AUTH'
    | 'LEASE_LOST'
    | 'LEASE_ERROR_UNKNOWN'
    | 'LEASE_MAPPING'
    | 'UPLOAD_IO'
    | 'UPLOAD_STALLED'
    | 'ESXI_UNREACHABLE'
    | 'INSUFFICIENT_SPACE'
    | 'REST'
    | 'PROTOCOL';
  readonly info: FaultInfo;
  /** Whether the server may have executed the call although no answer came. */
  readonly outcomeUnknown: boolean;

  constructor(
    code: VSphereError['code'],
    message: string,
    info: FaultInfo,
    options: { cause?: unknown; outcomeUnknown?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.info = info;
    this.outcomeUnknown = options.outcomeUnknown ?? false;
  }
}
