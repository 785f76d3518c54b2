/** The tables of docs/options.md name the options that the code accepts: all of them, and no other. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent, defineTool, openStore, scriptedModel } from '../../src/index.ts';
import { readPage } from '../support/documents.ts';

/** No option is near it, so the error lists all. */
const UNKNOWN = { ['q'.repeat(60)]: 1 };

/** The options that a call accepts, as its error lists them. */
async function acceptedBy(call: () => unknown): Promise<readonly string[]> {
  const message = await Promise.resolve()
    .then(call)
    .then(String, (error: Error) => error.message);
  return (/; there are: (.+)$/.exec(message)?.[1] ?? message).split(', ');
}

/** The options in the tables of a section, which begin with `option`. */
function listedIn(section: string): readonly string[] {
  const [, text = ''] = readPage('docs/options.md').split(`## \`${section}\`\n`);
  const [, table = ''] = (text.split('\n## ')[0] ?? '').split('| option |');
  const names = Array.from(table.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm), ([, cell = '']) => cell);
  return names.flatMap((cell) => cell.replaceAll('`', '').split(', ')).toSorted();
}

const agent = createAgent({ name: 'options', model: scriptedModel([]), instructions: '' });

test.for([
  ['createAgent', () => createAgent(UNKNOWN as never)],
  ['agent.run', async () => agent.run(await (await openStore('memory:')).session('s'), 'Hello', UNKNOWN)],
  ['defineTool', () => defineTool({ ...UNKNOWN, name: 't', description: '', input: z.object({}), execute: () => '' })],
  ['openStore', () => openStore('memory:', UNKNOWN)],
] as const)('the table of %s lists every option that it accepts, and no other', async ([section, call]) => {
  const accepted = await acceptedBy(call);
  expect(accepted.length).toBeGreaterThan(1);
  expect(listedIn(section)).toEqual(accepted.toSorted());
});
