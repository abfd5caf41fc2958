import type { EndAction } from './record.ts';

/** One run of a workflow as its history tells it, payloads decoded; only the events that records are made of. */
export interface PastRun {
  readonly workflowId: string;
  readonly runId: string;
  /** In the order of the history. */
  readonly events: readonly PastEvent[];
}

export interface ClosedRun {
  readonly workflowId: string;
  readonly runId: string;
  /** ISO 8601 in UTC. */
  readonly closedAt: string;
}

/** The past that Temporal still has. */
export interface Past {
  // Both end with an error when the signal is aborted.
  /** Runs with records that were closed at this time (ISO 8601) or after it, in no order, by pages; without one all that there are. */
  closedSince(at: string | undefined, signal: AbortSignal): AsyncIterable<readonly ClosedRun[]>;
  /** Undefined when it is there no more. */
  read(run: ClosedRun, signal: AbortSignal): Promise<PastRun | undefined>;
}

export interface PastEvent {
  readonly id: number;
  /** ISO 8601 in UTC. */
  readonly at: string;
  readonly what: Happening;
}

export type Attributes = Readonly<Record<string, unknown>>;

/** `identity` is that of the client which asked; empty where the server or a worker did it by itself. */
export type Happening =
  | {
      readonly kind: 'started';
      readonly type: string;
      readonly argument?: unknown;
      readonly memo: Attributes;
      readonly attributes: Attributes;
      readonly identity: string;
      /** Workflow id of who started it as its child. */
      readonly parent?: string;
      /** The run before it continued as this one. */
      readonly isContinued: boolean;
    }
  | { readonly kind: 'update'; readonly name: string; readonly argument?: unknown; readonly identity: string }
  | { readonly kind: 'update-end'; readonly acceptedId: number; readonly failure?: string }
  | { readonly kind: 'signal'; readonly name: string; readonly argument?: unknown; readonly identity: string }
  | { readonly kind: 'attributes'; readonly attributes: Attributes }
  | { readonly kind: 'cancel-requested'; readonly identity: string; readonly reason: string; readonly parent?: string }
  /** What stands before it was copied from another run. */
  | { readonly kind: 'reset'; readonly identity: string; readonly message: string }
  | {
      readonly kind: 'end';
      readonly how: EndAction;
      readonly identity?: string;
      readonly reason?: string;
      readonly message?: string;
    };
