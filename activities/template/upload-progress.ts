import type { ImportHeartbeat } from '../../workflows/contracts/template.ts';

/** The rate that people see is over this span. */
const rateSpanMs = 10_000;
/** Less silence than this is no stall worth a word. */
const stallWordMs = 2_000;

/** What an import tells in its heartbeats. One mutable record per attempt. */
export class ImportProgress {
  readonly #samples: { at: number; bytes: number }[] = [];
  readonly #startedAt = new Date().toISOString();
  readonly #attempt: number;
  #lastMoved = Date.now();
  #sent = 0;
  phase: ImportHeartbeat['phase'] = 'source';
  waitingFor: ImportHeartbeat['waitingFor'];
  /** This attempt began to upload. */
  hasUploaded = false;
  #withoutUpload = 0;
  entityRef: string | undefined;
  leaseTimeoutS: number | undefined;
  fileIndex = 0;
  fileCount = 0;
  fileBytes = 0;
  totalBytes = 0;
  readonly excludedHosts: string[];

  constructor(attempt: number, excludedHosts: readonly string[]) {
    this.#attempt = attempt;
    this.excludedHosts = [...excludedHosts];
  }

  /**
   * What an interrupted attempt left stays known until it is dealt with: this attempt may end before it gets there, and the
   * next one reads only the last heartbeat.
   */
  carry(previous: ImportHeartbeat): void {
    this.entityRef = previous.entityRef;
    this.leaseTimeoutS = previous.leaseTimeoutS;
    // One that was killed while it waited had nothing begun.
    this.#withoutUpload = (previous.withoutUpload ?? 0) + (previous.waitingFor === undefined ? 0 : 1);
    if (previous.phase !== 'completed') return;
    this.phase = 'completed';
    this.fileIndex = previous.fileIndex ?? 0;
    this.fileCount = previous.fileCount ?? 0;
    this.fileBytes = previous.fileBytes ?? 0;
    this.totalBytes = previous.totalBytes ?? 0;
    this.#sent = previous.sentBytes ?? 0;
  }

  /** Nothing is left of an earlier attempt: from here on it is about this one. */
  startOver(): void {
    this.entityRef = undefined;
    this.leaseTimeoutS = undefined;
    this.fileIndex = this.fileCount = this.fileBytes = this.totalBytes = this.#sent = 0;
  }

  /** Uploads begun so far, this attempt's included. One that was killed on its way to the upload counts as one. */
  get uploads(): number {
    return this.#attempt - this.#withoutUpload - (this.hasUploaded ? 0 : 1);
  }

  /** The attempt is over. */
  end(): void {
    if (!this.hasUploaded) this.#withoutUpload += 1;
    this.waitingFor = undefined;
  }

  /** Bytes of all files that the far side's socket has taken. */
  get sentBytes(): number {
    return this.#sent;
  }

  sent(bytes: number): void {
    if (bytes <= this.#sent) return;
    const now = Date.now();
    this.#sent = bytes;
    this.#lastMoved = now;
    if (now - (this.#samples.at(-1)?.at ?? 0) >= 250) this.#samples.push({ at: now, bytes });
    while ((this.#samples[0]?.at ?? now) < now - rateSpanMs) this.#samples.shift();
  }

  /** Whole percent of what the lease is told; 100 only when everything has been answered. */
  percent(isComplete: boolean): number {
    if (isComplete) return 100;
    return this.totalBytes === 0 ? 0 : Math.min(99, Math.floor((this.#sent / this.totalBytes) * 100));
  }

  details(): ImportHeartbeat {
    const rate = this.#rate();
    const silentMs = Date.now() - this.#lastMoved;
    const isStalled = this.phase === 'uploading' && silentMs > stallWordMs;
    return {
      v: 1,
      phase: this.phase,
      attempt: this.#attempt,
      startedAt: this.#startedAt,
      ...(this.entityRef === undefined ? {} : { entityRef: this.entityRef }),
      ...(this.leaseTimeoutS === undefined ? {} : { leaseTimeoutS: this.leaseTimeoutS }),
      ...(this.fileCount === 0
        ? {}
        : {
            fileIndex: this.fileIndex,
            fileCount: this.fileCount,
            fileBytes: this.fileBytes,
            sentBytes: this.#sent,
            totalBytes: this.totalBytes,
          }),
      ...(rate === undefined ? {} : { rate }),
      ...(isStalled ? { stalledMs: silentMs } : {}),
      ...(this.waitingFor === undefined ? {} : { waitingFor: this.waitingFor }),
      ...(this.#withoutUpload === 0 ? {} : { withoutUpload: this.#withoutUpload }),
      ...(this.excludedHosts.length === 0 ? {} : { excludedHosts: this.excludedHosts }),
    };
  }

  #rate(): number | undefined {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.at <= first.at) return undefined;
    return Math.round(((last.bytes - first.bytes) / (last.at - first.at)) * 1000);
  }
}
