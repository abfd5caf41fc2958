import { ActivityCancellationType, condition, type ActivityOptions } from '@temporalio/workflow';
import type { EntryActivities } from '../contracts/batch-activities.ts';
import type { CommitGranted, CommitRequest, EntrySettings } from '../contracts/batch.ts';
import { insist } from '../shared/insist.ts';
import { control } from '../shared/proxies.ts';
import { EntrySlots } from './entry-slots.ts';
import type { EntryState } from './entry-state.ts';
import type { News } from './entry-news.ts';

/** What the steps of a migration work with. */
export class EntryRun {
  readonly state: EntryState;
  readonly slots: EntrySlots;
  readonly news: News;
  settings: EntrySettings;
  isPaused: boolean;
  /** Others of its batch go first. */
  isLater: boolean;
  /** A person has resolved a conflict: what is checked next is checked anew. */
  isResolve: boolean;
  /** Its source was to be switched on again, and isn't there. */
  isSourceGone = false;
  /** Its window has ended while it holds it. */
  isWindowOver = false;
  #isPoked = false;
  #grant: CommitGranted | undefined;

  constructor(
    state: EntryState,
    news: News,
    settings: EntrySettings,
    { isPaused = false, isLater = false, isResolve = false },
  ) {
    this.state = state;
    this.news = news;
    this.slots = new EntrySlots(state);
    this.settings = settings;
    this.isPaused = isPaused;
    this.isLater = isLater;
    this.isResolve = isResolve;
  }

  /** Something was said: look again. */
  poke(): void {
    this.#isPoked = true;
  }

  grant(grant: CommitGranted): void {
    const { token, granted_at = 0 } = this.state.entry;
    if (grant.token !== token || (grant.at !== undefined && grant.at <= granted_at)) return;
    if (grant.at !== undefined) this.state.change({ granted_at: grant.at });
    // One that it has withdrawn its wish for is given back with its next news.
    this.state.change({ holds_place: true });
    if (this.news.asks) this.#grant = grant;
  }

  /** A place is waiting for it, and was not given back meanwhile. */
  hasGrant(): boolean {
    return this.#grant !== undefined && this.state.entry.holds_place;
  }

  /** Nobody has anything against that it begins. */
  mayBegin(): boolean {
    return !this.isPaused && !this.state.entry.held;
  }

  takeGrant(): CommitGranted | undefined {
    const grant = this.hasGrant() ? this.#grant : undefined;
    this.#grant = undefined;
    return grant;
  }

  /** The activities of an entry, labelled with what this call is for. One that is cancelled is over before anything is undone. */
  act(budget: ActivityOptions, summary: string): EntryActivities {
    const { WAIT_CANCELLATION_COMPLETED: cancellationType } = ActivityCancellationType;
    return control<EntryActivities>({ ...budget, cancellationType }, `${summary}: ${this.state.name}`);
  }

  /** Does this however often a far side refuses it, and shows why it can't go on. */
  async insist<T>(
    budget: ActivityOptions,
    summary: string,
    work: (activities: EntryActivities) => Promise<T>,
  ): Promise<T> {
    return await insist(
      () => work(this.act(budget, summary)),
      (trouble) => this.state.trouble(trouble),
    );
  }

  /** Waits until this holds, somebody says something, or the time is over. */
  async until(isSo: () => boolean, ms: number | undefined, summary: string): Promise<void> {
    const isDone = (): boolean => this.#isPoked || isSo();
    if (ms === undefined) await condition(isDone);
    else if (ms > 0) await condition(isDone, ms, { summary });
    this.#isPoked = false;
  }

  /** What it asks of its batch, while it is ready to be committed. */
  request(): CommitRequest {
    const { instance_uuid, token, ready_since, since, constraint, min_boot_ms, cutover } = this.state.entry;
    return {
      uuid: instance_uuid,
      name: this.state.name,
      token,
      readySince: ready_since ?? since,
      ...(constraint === undefined ? {} : { constraint }),
      minBootMs: min_boot_ms,
      cutover,
    };
  }
}
