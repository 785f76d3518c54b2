/** The gain of group commit: 32 sessions that append concurrently, compared with one that appends alone. */
import { sqliteStore } from '../../src/sqlite.ts';
import { atLeast, type Figure, median } from '../figure.ts';
import { inDirectory, message, timed } from './workload.ts';

const SESSIONS = 32;
const APPENDS = 20;
const ROUNDS = 40;

export function concurrentSessions(section: string): AsyncIterable<Figure> {
  return inDirectory(async function* (path) {
    const store = await sqliteStore(path('store.db'));
    const seqs = new Map<string, number>();
    /** One session makes a number of appends, each after the previous one was acknowledged. */
    const appendSome = async (id: string): Promise<void> => {
      for (let i = 0; i < APPENDS; i++) {
        const expectedSeq = seqs.get(id) ?? 0;
        const { seq } = await store.append(id, [message(expectedSeq)], { id: `append-${expectedSeq}`, expectedSeq });
        seqs.set(id, seq);
      }
    };
    /** Appends per millisecond, of one session and right after it of all. */
    const rounds: { readonly one: number; readonly many: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const alone = await timed(() => appendSome('alone'));
      const together = await timed(() =>
        Promise.all(Array.from({ length: SESSIONS }, (_, i) => appendSome(`session-${i}`))),
      );
      // The first rounds compile the code.
      if (round < 5) continue;
      rounds.push({ one: APPENDS / alone, many: (SESSIONS * APPENDS) / together });
    }
    const perSecond = (which: 'one' | 'many') => (median(rounds.map((round) => round[which])) * 1000).toFixed(0);
    yield atLeast(
      section,
      '32 concurrent sessions / one session, appends per second',
      median(rounds.map(({ one, many }) => many / one)),
      8,
      `${perSecond('many')} against ${perSecond('one')} a second`,
    );
    await store.close();
  });
}
