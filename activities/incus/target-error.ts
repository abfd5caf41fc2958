import type { TargetErrorCode } from './port.ts';

export interface TargetErrorInit {
  /** What a person should do; one sentence without its full stop. */
  readonly next?: string | undefined;
  /** HTTP status, where the target answered. */
  readonly status?: number | undefined;
  readonly retryAfterS?: number | undefined;
  readonly cause?: unknown;
}

/** What a target refused, didn't do or didn't answer. Its message has no keys, certificates or query strings. */
export class TargetError extends Error {
  override readonly name = 'TargetError';
  readonly code: TargetErrorCode;
  readonly next: string;
  readonly status: number | undefined;
  readonly retryAfterS: number | undefined;

  constructor(code: TargetErrorCode, message: string, init: TargetErrorInit = {}) {
    super(message, { cause: init.cause });
    this.code = code;
    this.next = init.next ?? advice[code];
    this.status = init.status;
    this.retryAfterS = init.retryAfterS;
  }

  /** The code under the name that errors of far sides over HTTP have for it. */
  get reason(): TargetErrorCode {
    return this.code;
  }
}

const advice: Readonly<Record<TargetErrorCode, string>> = {
  UNREACHABLE: 'check the address of the target and that the workers reach it',
  TIMEOUT: 'look at the operations of the target; it is asked again',
  UNTRUSTED: 'add the client certificate of vmflow to the trust store of the target',
  CERTIFICATE: 'check url and tls of the target in vmflow.yaml',
  FORBIDDEN: 'allow the client certificate of vmflow to change this project',
  NOT_FOUND: 'check whether somebody deleted or renamed it',
  PROJECT_GONE: 'create the project at the target, or place the instance in another one',
  FOREIGN_INSTANCE: 'rename or remove what is there, or give the instance another name',
  NOT_OURS: 'look at the marks (user.migration.*) of the instance',
  NO_SPACE: 'make room in the storage pool, or place the disk in another one',
  BUSY: 'wait until the other work on it is done',
  ETAG: 'find out who changes the instance at the same time',
  FENCED: 'nothing: a newer copy pass writes',
  OPERATION_FAILED: 'look at the log of the target',
  INVALID: 'correct what the target refuses',
  SERVER: 'look at the log of the target; it is asked again',
  PROTOCOL: 'check that url in vmflow.yaml is that of an Incus server',
  DISK_CONNECTION: 'check the network between worker and target; the copy goes on where it was',
};
