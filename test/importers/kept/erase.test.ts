/** Erased records stay erased, whatever the agent does to its file afterwards. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/ports/store.ts';
import { eraseRecords, importTranscripts, loadImported, restoreTranscript } from '../../../src/transcripts.ts';
import { folder, write } from '../places.ts';
import { eventsOf, imported, prompt, STORES } from './support.ts';

const ID = 'claude-sdk:s1';
const SECRET = prompt('s1', 1, 'the secret is xylophone');
const lines = (...numbers: readonly number[]): string =>
  numbers.map((n) => (n === 1 ? SECRET : prompt('s1', n))).join('');

/** Everything that the store has of the session, as text. */
async function everything(store: Store): Promise<string> {
  const parts = [await eventsOf(store, ID), await imported(store), await loadImported(store, ID)];
  return JSON.stringify([...parts, await store.search?.('xylophone')]);
}

describe.each(STORES)('%s', (_, open) => {
  test('an erased record is left out of later generations, and the session cannot be restored', async () => {
    const store = await open();
    const root = write(folder(), { 'p/s1.jsonl': lines(0, 1, 2) });
    const path = join(root, 'p/s1.jsonl');
    await importTranscripts(store, { paths: [root] });
    expect(await eraseRecords(store, ID, ({ text }) => text.includes('xylophone'))).toBe(1);
    for (const [text, left] of [
      [lines(0), lines(0)], // truncated
      [lines(0, 1, 2), lines(0, 2)], // grown again
      [lines(3, 0, 1, 2), lines(3, 0, 2)], // rewritten
      [lines(0, 2, 1).trimEnd(), lines(0, 2)], // without its line end
      [lines(0, 2, 1, 3), lines(0, 2, 3)],
      [lines(1), ''],
      [lines(4, 1).replaceAll('\n', '\r\n'), lines(4).replaceAll('\n', '\r\n')],
    ] as const) {
      writeFileSync(path, text);
      await importTranscripts(store, { paths: [root] });
      expect((await loadImported(store, ID)).raw).toBe(left);
      expect(await everything(store)).not.toContain('xylophone');
      expect(await importTranscripts(store, { paths: [root] })).toMatchObject({ sessions: 0, unchanged: 1 });
    }
    await expect(restoreTranscript(store, ID, join(folder(), 's1.jsonl'))).rejects.toMatchObject({
      code: 'SOURCE_INCOMPLETE',
    });
  });

  test('records that are erased one after the other from one batch all stay erased', async () => {
    const store = await open();
    const root = write(folder(), { 'p/s1.jsonl': lines(0, 1, 2, 3) });
    await importTranscripts(store, { paths: [root] });
    for (const text of ['xylophone', 'prompt 2']) {
      expect(await eraseRecords(store, ID, (record) => record.text.includes(text))).toBe(1);
    }
    write(root, { 'p/s1.jsonl': lines(4, 0, 1, 2, 3) });
    await importTranscripts(store, { paths: [root] });
    expect((await loadImported(store, ID)).raw).toBe(lines(4, 0, 3));
  });

  test('an erased record of a redacted import is left out of later generations', async () => {
    const store = await open();
    const root = write(folder(), { 'p/s1.jsonl': lines(0, 1, 2) });
    const redact = (text: string): string => text.replaceAll('xylophone', 'instrument');
    await importTranscripts(store, { paths: [root], redact });
    expect(await eraseRecords(store, ID, ({ text }) => text.includes('instrument'))).toBe(1);
    write(root, { 'p/s1.jsonl': lines(3, 0, 1) });
    await importTranscripts(store, { paths: [root], redact });
    expect((await loadImported(store, ID)).raw).toBe(lines(3, 0));
  });

  test('the rest of a torn line that was erased is not imported', async () => {
    const store = await open();
    const root = write(folder(), { 'p/s1.jsonl': lines(0) + SECRET.slice(0, -3) });
    await importTranscripts(store, { paths: [root] });
    expect(await eraseRecords(store, ID, ({ text }) => text.includes('xylophone'))).toBe(1);
    appendFileSync(join(root, 'p/s1.jsonl'), SECRET.slice(-3) + lines(2));
    await importTranscripts(store, { paths: [root] });
    expect((await loadImported(store, ID)).raw).toBe(lines(0, 2));
    expect(await everything(store)).not.toContain('xylophone');
  });

  test('forgetting the old generations leaves out no record that the newest one has', async () => {
    const store = await open();
    const root = write(folder(), { 'p/s1.jsonl': lines(0, 1, 2) });
    for (const text of [lines(0, 2), lines(3, 0, 2)]) {
      await importTranscripts(store, { paths: [root] });
      write(root, { 'p/s1.jsonl': text });
    }
    expect(await eraseRecords(store, ID, ({ isReplaced }) => isReplaced)).toBe(3);
    await importTranscripts(store, { paths: [root] });
    expect((await loadImported(store, ID)).raw).toBe(lines(3, 0, 2));
    write(root, { 'p/s1.jsonl': lines(1, 0, 2) });
    await importTranscripts(store, { paths: [root] });
    expect((await loadImported(store, ID)).raw).toBe(lines(0, 2));
  });
});
