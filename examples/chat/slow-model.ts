/** A model that needs no key: it counts, asks to send letters, or explains itself, word by word. */
import { defineTool, type Model, type ModelPart, type ModelRequest, textOf } from 'holdfast';
import { z } from 'zod';

const WORD_MS = Number(process.env.WORD_MS ?? 45);

export const sendLetter = defineTool({
  name: 'send_letter',
  description: 'Sends a letter',
  input: z.object({ to: z.string(), text: z.string() }),
  effect: 'once',
  needsApproval: true,
  execute: ({ to }) => `The letter to ${to} is in the post.`,
});

export const slowModel: Model = {
  provider: 'example',
  modelId: 'slow',
  async *stream({ messages, signal, turn }: ModelRequest): AsyncIterable<ModelPart> {
    const last = messages.at(-1);
    const said = last ? textOf(last) : '';
    if (last?.role === 'user' && /letter/i.test(said)) {
      const letter = { to: 'Ada', text: 'The engine weaves algebraical patterns.' };
      const call = { callId: `letter_${turn}`, name: sendLetter.name, arguments: JSON.stringify(letter) };
      yield { type: 'finish', response: { content: [], toolCalls: [call], finishReason: 'tool-calls' } };
      return;
    }
    let text = '';
    for (const word of wordsFor(said, messages.length)) {
      await pause(WORD_MS, signal);
      const delta = text === '' ? word : ` ${word}`;
      text += delta;
      yield { type: 'text-delta', blockId: 'text', delta };
    }
    yield { type: 'finish', response: { content: [{ type: 'text', text }], toolCalls: [], finishReason: 'stop' } };
  },
};

function wordsFor(said: string, messages: number): readonly string[] {
  const count = Number(/count to (\d{1,6})/i.exec(said)?.[1] ?? 0);
  if (count > 0) return Array.from({ length: count }, (_, i) => `${i + 1}`);
  const story =
    `This is message ${messages} of a conversation that lives in a log. Close this tab or reload it in the middle of a word: the text ` +
    'continues, and no character is lost or doubled. Stop the server with Ctrl-C and start it again: what was said stays, marked as cut off, and the model responds again. ' +
    'Say “count to 200” for a long response, or ask for a letter, which needs your approval.';
  return story.split(' ');
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
