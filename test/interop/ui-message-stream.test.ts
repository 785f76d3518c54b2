/**
 * The UI message stream of an agent that is killed and resumed shows what a reload shows: no text lost, none doubled. The seed of a
 * failure is in its message; `SEED=<seed>` repeats it.
 */
import { setImmediate } from 'node:timers/promises';
import { asSchema, readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from 'ai';
import { expect, test } from 'vitest';
import { createConversationState, logConverter, reduceConversationEvents } from '../../src/conversation.ts';
import { openSession, type TailItem } from '../../src/index.ts';
import type { UiChunk } from '../../src/interop/ui-chunks.ts';
import { UiMessageStream } from '../../src/interop/ui-message-stream.ts';
import { shownUiMessages } from '../../src/interop/ui-messages.ts';
import { advancing } from '../loop/agent.ts';
import { Life, World } from '../loop/mortal.ts';
import { oneLife } from '../session/tail/one-life.ts';
import { randomFrom, SEED } from '../support/random.ts';

const ROUNDS = 4;

/** Runs the agent to its end through many deaths; returns everything that a reader received, some of it in large steps. */
async function lives(
  world: World,
  random: () => number,
): Promise<{ readonly items: TailItem[]; readonly deaths: number }> {
  const items: TailItem[] = [];
  const reader = await openSession({ store: world.store, id: 'session' });
  const stop = new AbortController();
  const reading = (async () => {
    for await (const item of reader.events({ live: true, drafts: true, signal: stop.signal })) {
      items.push(item);
      for (let turns = random() * 8; turns > 6; turns -= 0.1) await setImmediate();
    }
  })();
  for (let life = 0; ; life++) {
    const one = new Life(world, life < 12 ? 1 + Math.floor(random() * 250) : Number.POSITIVE_INFINITY);
    const end = await advancing(world.clock, Promise.race([oneLife(one, random), one.died]));
    if (end !== 'died') {
      const { seq } = await world.store.head('session');
      const isRead = ({ event }: TailItem): boolean => 'seq' in event && event.seq === seq;
      while (!items.some(isRead)) await setImmediate();
      stop.abort();
      await reading;
      await reader.close();
      return { items, deaths: life };
    }
    world.clock.advance(60_000); // its lease expires
  }
}

/** The message that a client of the AI SDK makes of the chunks. */
async function messageOf(chunks: readonly UiChunk[]): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk as unknown as UIMessageChunk);
      controller.close();
    },
  });
  let message: UIMessage | undefined;
  for await (const next of readUIMessageStream({ stream, terminateOnError: true })) message = next;
  return message;
}

/** Steps, texts, reasoning and tools of a message, in order. */
function shown(message: Pick<UIMessage, 'parts'> | undefined): readonly string[] {
  return (message?.parts ?? []).flatMap((part): string[] => {
    if (part.type === 'text' || part.type === 'reasoning') return [`${part.type} ${part.text}`];
    if (part.type === 'step-start') return [part.type];
    if (part.type !== 'dynamic-tool') return [];
    return [`${part.toolName} ${JSON.stringify(part.input)} ${part.state} ${part.output}`];
  });
}

test('an agent that is killed again and again: the streamed message equals that of a reload', async () => {
  const random = randomFrom(SEED);
  let resets = 0;
  let deaths = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const world = new World();
    const lived = await lives(world, random);
    deaths += lived.deaths;
    const session = await openSession({ store: world.store, id: 'session' });
    const evaluationId = session.summary?.evaluationId ?? '';
    const stream = new UiMessageStream({ evaluationId });
    const chunks = lived.items.flatMap((item) => stream.push(item));
    for (const chunk of chunks) {
      expect(await asSchema(uiMessageChunkSchema).validate?.(chunk), JSON.stringify(chunk)).toMatchObject({
        success: true,
      });
    }
    expect(stream.isDone).toBe(true);
    const converter = logConverter();
    const state = reduceConversationEvents(
      createConversationState(),
      lived.items.flatMap((item) => converter.push(item)),
    );
    const reloaded = shownUiMessages(session, state).find(({ role }) => role === 'assistant') as unknown as UIMessage;
    expect(reloaded.id).toBe(evaluationId);
    expect(shown(await messageOf(chunks)), `seed ${SEED}, round ${round}`).toEqual(shown(reloaded));
    resets += chunks.filter(({ type }) => type === 'reset-step').length;
  }
  expect(deaths).toBeGreaterThan(10);
  expect(resets).toBeGreaterThan(5);
});
