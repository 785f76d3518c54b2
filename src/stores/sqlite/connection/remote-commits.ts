import type { CommitFeed } from '../../shell/watching.ts';
import { Watchers } from '../../watchers.ts';
import type { Database } from '../driver.ts';
import type { DraftTable } from '../rows/draft-table.ts';
import type { SessionTable } from '../rows/session-table.ts';

const POLL_MS = 100;

/**
 * Notices what other connections commit, while a session is watched. SQLite sends no notice, but `data_version` changes with every
 * commit of another connection, and reading it costs a few microseconds.
 */
export class RemoteCommits implements CommitFeed {
  #watchers = new Watchers();
  readonly #sessions: SessionTable;
  readonly #drafts: DraftTable;
  readonly #askVersion: () => unknown;
  /** Where each watched session was when its watchers were last notified; undefined after a commit of our own. */
  readonly #positions = new Map<string, string | undefined>();
  #version: unknown;
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database, sessions: SessionTable, drafts: DraftTable) {
    this.#drafts = drafts;
    this.#sessions = sessions;
    const statement = database.prepareValue<[], number>('PRAGMA data_version');
    this.#askVersion = () => statement.get();
  }

  start(watchers: Watchers): void {
    this.#watchers = watchers;
  }

  /** Starts to poll with the first watcher. */
  watch(sessionId: string): void {
    // In this order: a commit in between is looked at once too often, not missed.
    this.watchWork();
    if (!this.#positions.has(sessionId))
      this.#positions.set(sessionId, this.#position(sessionId, this.#sessions.recentHeads()));
  }

  /** Any commit of another connection may have made some work. */
  watchWork(): void {
    if (!this.#timer) this.#version = this.#askVersion();
    this.#timer ??= setInterval(() => this.#look(), POLL_MS).unref();
  }

  /**
   * A commit of our own: its watchers are notified already. The position is not read here, since every commit would pay for it: the next
   * commit of another connection, to any session, notifies these watchers once more.
   */
  committed(sessionId: string): void {
    if (this.#positions.has(sessionId)) this.#positions.set(sessionId, undefined);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#positions.clear();
  }

  #look(): void {
    if (!this.#watchers.isWatching) {
      this.stop();
      return;
    }
    try {
      const version = this.#askVersion();
      if (version === this.#version) return;
      // Read before the sessions' rows: an event that gets its place in between is counted by one of them.
      const recent = this.#sessions.recentHeads();
      for (const [sessionId, before] of this.#positions) {
        if (!this.#watchers.has(sessionId)) {
          this.#positions.delete(sessionId);
          continue;
        }
        const position = this.#position(sessionId, recent);
        if (position === before) continue;
        this.#positions.set(sessionId, position);
        this.#watchers.notify(sessionId);
      }
      this.#version = version;
      this.#watchers.notifyWork();
    } catch {
      // Locked for the moment: the version is still the old one, so the next look finds the same news.
    }
  }

  #position(sessionId: string, recent: ReadonlyMap<number, number>): string {
    const session = this.#sessions.find(sessionId);
    if (!session) return '';
    const { key, placed_seq, revision } = session;
    return `${key}/${recent.get(key) ?? placed_seq}/${revision}/${this.#drafts.last(key)}`;
  }
}
