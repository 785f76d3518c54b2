import type { PgConnection } from '../pg.ts';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

interface Notification {
  readonly channel: string;
  readonly payload?: string;
}

/** A connection that is used for nothing else. */
export type ListeningConnection = Pick<PgConnection, 'query' | 'on' | 'end'>;

/**
 * One connection that listens for notices, opened with the first channel. When it is lost it is opened again, and every listener is
 * called: notices may have been sent meanwhile. It does not keep the process alive.
 */
export class NoticeListener {
  readonly #connect: () => Promise<ListeningConnection>;
  readonly #channels = new Set<string>();
  #connection: ListeningConnection | undefined;
  #connecting: Promise<void> | undefined;
  /** Ends with the newest statement of the connection: the driver takes one at a time. */
  #last: Promise<void> = Promise.resolve();
  #notice: (channel: string, payload: string) => void = () => {};
  #listening: () => void = () => {};
  #pause = FIRST_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** `connect` returns an open connection that is only used here. */
  constructor(connect: () => Promise<ListeningConnection>) {
    this.#connect = connect;
  }

  get isListening(): boolean {
    return this.#connection !== undefined;
  }

  onNotice(listener: (channel: string, payload: string) => void): void {
    this.#notice = listener;
  }

  /** Called each time a new connection listens to all channels. */
  onListening(listener: () => void): void {
    this.#listening = listener;
  }

  /** Listens to a channel, too. Calls back when a present connection does; for a new connection `onListening` is called. */
  listen(channel: string, listens: () => void): void {
    if (this.#channels.has(channel) || this.#closed) {
      if (this.#connection) queueMicrotask(listens);
      return;
    }
    this.#channels.add(channel);
    if (!this.#connection) {
      this.#open();
      return;
    }
    const connection = this.#connection;
    this.#last = this.#last
      .then(() => connection.query({ text: `LISTEN "${channel}"` }))
      .then(listens, () => this.#lost(connection));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#connecting;
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.end().catch(() => {});
  }

  #open(): void {
    this.#connecting ??= this.#attempt().finally(() => {
      this.#connecting = undefined;
    });
  }

  async #attempt(): Promise<void> {
    let connection: ListeningConnection | undefined;
    try {
      const opened = await this.#connect();
      connection = opened;
      const lost = (): void => this.#lost(opened);
      opened.on('error', lost);
      opened.on('end', lost);
      opened.on('notification', ({ channel, payload = '' }: Notification) => this.#notice(channel, payload));
      // Channels may be added while this waits.
      let done = 0;
      while (done < this.#channels.size) {
        const channels = [...this.#channels];
        await opened.query({
          text: channels
            .slice(done)
            .map((channel) => `LISTEN "${channel}"`)
            .join(';'),
        });
        done = channels.length;
      }
      if (this.#closed) return void (await opened.end());
      this.#connection = opened;
      this.#last = Promise.resolve();
      this.#pause = FIRST_PAUSE_MS;
      this.#listening();
    } catch {
      await connection?.end().catch(() => {});
      this.#again();
    }
  }

  #lost(connection: ListeningConnection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    connection.end().catch(() => {});
    this.#again();
  }

  #again(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#open(), this.#pause).unref();
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
  }
}
