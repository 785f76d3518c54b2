/**
 * Notifies workers that a session may have work, so that they need not search for it.
 *
 * Contract: the log is the queue and a doorbell only rings (D61). A ring that is lost, doubled, late or about a session without work does
 * no harm: a worker looks at the log, and searches now and then anyway. `listen` resolves when rings are delivered; the function that it
 * returns ends that. A doorbell that breaks reports it to `onError` and recovers by itself.
 */
export interface Doorbell {
  listen(options: DoorbellListener): Promise<() => Promise<void>>;
}

/** What a doorbell calls. */
export interface DoorbellListener {
  /** A session may have work; without an id: one of them. */
  readonly ring: (sessionId?: string) => void;
  readonly onError: (error: unknown) => void;
}
