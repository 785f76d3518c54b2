/**
 * One process with several people: `people-child.ts <directory> <seed>`. Its tools may kill it inside an effect. With the seed `end` it
 * completes the conversation and prints what is wrong with it.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sqliteStore } from '../../src/sqlite.ts';
import { randomFrom } from '../support/random.ts';
import { effectOf, lies, Person } from './people.ts';

const [dir = '.', seed = 'end'] = process.argv.slice(2);
const effectsFile = join(dir, 'effects.log');
const wordsFile = join(dir, 'words.log');
const linesOf = (file: string): readonly string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
const note = (file: string, line: string): void => appendFileSync(file, `${line}\n`, { flush: true });

const random = randomFrom(Number(seed));
const mayDie = (): void => {
  if (seed !== 'end' && random() < 0.1) process.kill(process.pid, 'SIGKILL');
};
const store = await sqliteStore(join(dir, 'agent.db'));
const outside = {
  effect(context: Parameters<typeof effectOf>[0]) {
    mayDie();
    note(effectsFile, effectOf(context));
    mayDie();
  },
  accepted: (word: string) => note(wordsFile, word),
};
if (seed === 'end') {
  const session = await (await Person.open(store, outside, () => 1)).end();
  const [effects, words] = [linesOf(effectsFile), linesOf(wordsFile)];
  console.log(JSON.stringify({ lies: await lies(session, { effects, words }), effects: effects.length, words }));
} else {
  const people = await Promise.all([1, 2].map(() => Person.open(store, outside, random)));
  await Promise.all(people.map((person) => person.live(30)));
}
await store.close();
