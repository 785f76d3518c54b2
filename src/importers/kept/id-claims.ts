/** One task's place in the order. */
export interface Turn {
  /** Names the ids that the task wants. Resolves when all tasks before it have named theirs, and those that want one of these have left. */
  claim(ids: readonly string[]): Promise<void>;
  /** The task has ended, or wants no id. Call it in any case, also twice: later tasks wait for it. */
  leave(): void;
}

/**
 * Of several sources that want the same session id, the first one in the order of the walk gets it, however long each takes to read. So an
 * import that was killed and runs again ends as one that was not.
 */
export class IdClaims {
  /** Resolves when every task so far has named its ids. */
  #named: Promise<void> = Promise.resolve();
  /** When the last task that wants an id has left. */
  readonly #wanted = new Map<string, Promise<void>>();

  /** Takes the next place in the order. */
  enter(): Turn {
    const before = this.#named;
    const named = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    this.#named = before.then(() => named.promise);
    return {
      claim: async (ids) => {
        await before;
        const earlier = ids.map((id) => this.#wanted.get(id));
        for (const id of ids) this.#wanted.set(id, left.promise);
        named.resolve();
        await Promise.all(earlier);
      },
      leave: () => {
        named.resolve();
        left.resolve();
      },
    };
  }
}
