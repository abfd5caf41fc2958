/** What a record tells of. A closed list: scripts select by it. */
export type RecordAction =
  | 'started'
  | 'update'
  | 'update-completed'
  | 'update-failed'
  | 'signal'
  | 'status'
  | 'cancel-requested'
  | 'reset'
  | EndAction;

export const endActions = ['completed', 'failed', 'canceled', 'terminated', 'timed-out', 'continued'] as const;
export type EndAction = (typeof endActions)[number];

/** One line of the record of who did what. Fields are only added, never renamed. */
export interface HistoryRecord {
  /** `<workflow id>/<run id>/<event id>`: the same event has the same id whenever and by whomever it is read. */
  readonly id: string;
  /** ISO 8601 in UTC, by the clock of Temporal's server. */
  readonly at: string;
  /** Value of the search attribute `OpKind`, or the type of the workflow where it has none. */
  readonly kind: string;
  /** Workflow id. */
  readonly operation: string;
  readonly run: string;
  readonly vm?: string;
  readonly batch?: string;
  readonly action: RecordAction;
  /** Of the update or signal. */
  readonly name?: string;
  /** The person, as the command line or the Web UI named them; else the client that asked. */
  readonly by?: string;
  readonly reason?: string;
  /** The status before and after. */
  readonly from?: string;
  readonly to?: string;
  /** `argument`, `message`, `parent`, `update`: what else is known. Without secrets, each at most 2 KB. */
  readonly detail?: Readonly<Record<string, unknown>>;
}
