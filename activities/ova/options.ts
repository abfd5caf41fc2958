/** How strictly an OVA is looked at. */
export interface InspectionOptions {
  /** Default `if-present`. */
  readonly verifyManifest?: 'require' | 'if-present' | 'off';
  /** Odd but readable OVAs are refused instead of warned about. Default false. */
  readonly strictOva?: boolean;
  /** Compared with the descriptor's product version; a difference is a warning. */
  readonly targetVersion?: string;
}

/** How far a pass over the bytes has come. */
export interface SourceProgress {
  readonly phase: 'waiting' | 'downloading' | 'reading';
  readonly bytes: number;
  readonly totalBytes?: number;
}

export interface RunOptions {
  readonly signal?: AbortSignal;
  /**
   * Called for every chunk; the callee limits its own rate. Work that several share calls the listeners of all from the
   * async context of the first: a listener must not look up its activity in that context.
   */
  readonly onProgress?: (progress: SourceProgress) => void;
}
