import type { Store } from '../../src/index.ts';
import { recordedMessage } from '../../test/browser/studio/recorded-message.ts';

const CODE = Array.from({ length: 12 }, (_, line) => `const value${line} = compute(${line}, 'tide');`).join('\n');

/** Blocks of one turn: a message, a response, a call and its result. */
const BLOCKS_PER_TURN = 4;

/** Writes a session as coding agents leave it: questions, Markdown with code and tables, commands and what they printed. */
export async function appendLongSession(store: Store, id: string, blocks: number): Promise<void> {
  const turns = Math.ceil(blocks / BLOCKS_PER_TURN);
  const events = Array.from({ length: turns }, (_, index) => turnOf(index + 1)).flat();
  for (let from = 0; from < events.length; from += 1000) {
    await store.append(id, events.slice(from, from + 1000), { id: `append-${from}`, expectedSeq: from });
  }
}

function turnOf(turn: number): readonly never[] {
  const callId = `c${turn}`;
  const call = { callId, name: 'Bash', arguments: JSON.stringify({ command: `npm test -- part-${turn}` }) };
  const printed = Array.from({ length: 20 }, (_, line) => `\u001b[32m✓\u001b[0m case ${line} of part ${turn}`).join(
    '\n',
  );
  const result = { role: 'tool', toolCallId: callId, toolName: 'Bash', content: [{ type: 'text', text: printed }] };
  const response = { role: 'assistant', content: [{ type: 'text', text: markdown(turn) }], toolCalls: [call] };
  const question = { role: 'user', content: [{ type: 'text', text: `Question ${turn}: what comes next?` }] };
  return [question, response, result].map((message, at) =>
    recordedMessage(turn * 3 + at, message.role === 'user' ? 0 : turn, message),
  );
}

function markdown(turn: number): string {
  const list = Array.from({ length: turn % 5 }, (_, item) => `- item **${item}** of \`part-${turn}\``).join('\n');
  const code = turn % 3 === 0 ? `\n\n\`\`\`ts\n${CODE}\n\`\`\`` : '';
  const table = turn % 7 === 0 ? '\n\n| name | value |\n| --- | ---: |\n| tide | 3 |\n| wind | 7 |' : '';
  return `Response **${turn}**: ${'a few words more '.repeat(turn % 9)}\n\n${list}${code}${table}`;
}
