/**
 * One process with two participants of a conversation: `inbox-child.ts <directory> <seed>`. It may be killed at any write to the store,
 * inside an effect, or between any two actions of its participants. With the seed `end` it completes the conversation and prints the
 * violations of the model.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sqliteStore } from '../../src/sqlite.ts';
import { crashPoints, storeWithCrashPoints } from '../../src/testing/crash-points.ts';
import { randomFrom } from '../support/random.ts';
import { type Note, problemsOf, reopened } from './inbox-model.ts';
import { Participant, pausing, SESSION } from './inbox-participant.ts';

const [dir = '.', seed = 'end'] = process.argv.slice(2);
const notesFile = join(dir, 'notes.log');
const notes = (): readonly Note[] =>
  existsSync(notesFile)
    ? readFileSync(notesFile, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : [];
const note = (one: Note): void => appendFileSync(notesFile, `${JSON.stringify(one)}\n`, { flush: true });

const random = seed === 'end' ? () => 1 : randomFrom(Number(seed));
const mayDie = (): void => {
  if (random() < 0.003) process.kill(process.pid, 'SIGKILL');
};
const pause = pausing(random);
const raw = await sqliteStore(join(dir, 'agent.db'));
const store = storeWithCrashPoints(raw, crashPoints({ onPoint: mayDie }));
const outside = {
  note,
  async pause() {
    mayDie();
    await pause();
  },
};
if (seed === 'end') {
  await (await Participant.open('end', store, outside, random)).end();
  const all = notes();
  const problems = await problemsOf(await reopened(store, SESSION), all, { isOver: true });
  console.log(JSON.stringify({ problems, notes: all.map((one) => one.note) }));
} else {
  const names = ['a', 'b'].map((name) => `${name}${seed}`);
  const people = await Promise.all(names.map((name) => Participant.open(name, store, outside, random)));
  await Promise.all(people.map((person) => person.live(12)));
}
await store.close();
