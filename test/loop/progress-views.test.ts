/** Progress under redaction, on blocks of the conversation, and of foreign tools (D62). */
import { describe, expect, test, vi } from 'vitest';
import {
  createConversationState,
  logConverter,
  messagesToEvents,
  reduceConversationEvents,
} from '../../src/conversation.ts';
import { MAX_PROGRESS_LENGTH } from '../../src/core/log/progress.ts';
import {
  type EvaluationEvent,
  isToolProgress,
  mcpTools,
  memoryStore,
  type SessionEvent,
  type ToolContext,
} from '../../src/index.ts';
import { type AgentOptions, agent, call } from './agent.ts';
import { type Reporting, reporting, reports, written } from './reporting-agent.ts';

describe('redaction', () => {
  const SECRET = 'sk-secret42';
  const redactText = (text: string): string => text.replaceAll(SECRET, '[key]');
  const redact: AgentOptions['redact'] = (event) => event;

  /** All written chunks of a tool's reports. */
  async function storedOf(options: Partial<AgentOptions>, pieces: readonly string[]): Promise<string> {
    const store = memoryStore();
    const appendDraft = vi.spyOn(store, 'appendDraft');
    const made: Reporting = await reporting(
      async (_, ctx: ToolContext) => {
        for (const text of pieces) {
          ctx.progress({ text, data: { key: SECRET } });
          await written(made);
        }
        return 'ok';
      },
      { store, ...options },
    );
    await made.evaluate();
    expect(made.events.filter(isToolProgress)).toHaveLength(pieces.length);
    return JSON.stringify(appendDraft.mock.calls.flatMap(([, chunks]) => chunks.map(({ delta }) => delta)));
  }

  test('D77: with redact and without redactText, progress is not stored', async () => {
    expect(await storedOf({ redact }, ['my key is ', 'public '])).toBe('[]');
  });

  test('D77: with redactText, progress is stored redacted, cut at whitespace, and without data', async () => {
    const stored = await storedOf({ redact, redactText }, ['my key is sk-se', 'cret42', ' and so on', ' sk-secr']);
    expect(stored).toContain('[key] and so ');
    expect(stored).not.toMatch(/sk-|cret42/);
  });

  test('D77: a word whose beginning was dropped by the limit is not stored', async () => {
    const filler = 'x'.repeat(2 * MAX_PROGRESS_LENGTH);
    const stored = await storedOf({ redact, redactText }, [`sk-se${filler}`, `cret42 end `]);
    expect(stored).not.toContain('cret42');
    expect(stored).toContain('end ');
  });
});

describe("on the call's block", () => {
  /** The blocks of the main conversation, from the live events and from a reload, at the moment of each call. */
  async function looks(
    work: (ctx: ToolContext, look: () => Promise<void>) => Promise<unknown>,
  ): Promise<readonly { readonly live: unknown; readonly reloaded: unknown; readonly watched: unknown }[]> {
    const seen: { live: unknown; reloaded: unknown; watched: unknown }[] = [];
    const converter = logConverter();
    const watcher = logConverter();
    let live = createConversationState();
    let watched = createConversationState();
    let watchedSeq = 0;
    const look = async (): Promise<void> => {
      await written(made);
      const log: SessionEvent[] = [];
      for await (const event of made.session.events()) log.push(event);
      const drafts = await made.store.readDraft('session');
      for (const event of log.filter(({ seq }) => seq > watchedSeq)) {
        watched = reduceConversationEvents(watched, watcher.push(event));
        watchedSeq = event.seq;
      }
      // A watcher reads the same chunks repeatedly.
      for (const chunk of drafts) watched = reduceConversationEvents(watched, watcher.push(chunk));
      const reloaded = reduceConversationEvents(createConversationState(), messagesToEvents(log, { drafts }));
      seen.push(JSON.parse(JSON.stringify({ live, reloaded, watched })));
    };
    const made: Reporting = await reporting((_, ctx: ToolContext) => work(ctx, look));
    const onEvent = (event: EvaluationEvent): void => {
      live = reduceConversationEvents(live, converter.push(event as never));
    };
    await made.evaluate({ onEvent });
    await look();
    return seen;
  }

  test('D62: live events, a reload and a watcher of the store show the same, before and after the result', async () => {
    const seen = await looks(async (ctx, look) => {
      ctx.progress('one\n');
      await look();
      ctx.progress({ text: 'two\n', percent: 10 });
      ctx.progress({ data: { file: 'a' } });
      await look();
      return 'ok';
    });
    expect(seen).toHaveLength(3);
    for (const { live, reloaded, watched } of seen) {
      expect(live).toEqual(reloaded);
      expect(watched).toEqual(reloaded);
    }
    expect(JSON.stringify(seen[1]?.reloaded)).toContain(
      JSON.stringify({ text: 'one\ntwo\n', percent: 10, data: { file: 'a' } }),
    );
    expect(JSON.stringify(seen[2])).not.toContain('"progress"');
  });

  test('D62: beyond the limit a watcher of the store shows the same as a reload', async () => {
    const seen = await looks(async (ctx, look) => {
      for (let i = 0; i < 12; i++) {
        ctx.progress(`${i}`.repeat(9000));
        await look();
      }
      return 'ok';
    });
    for (const { reloaded, watched } of seen) expect(watched).toEqual(reloaded);
  });
});

describe('foreign tools', () => {
  test('D62: preliminary results of an AI SDK tool are progress, and the last one is the result', async () => {
    async function* execute(): AsyncGenerator<{ status: string }> {
      yield { status: 'loading' };
      yield { status: 'ready' };
    }
    const made = await agent({
      script: [{ toolCalls: [call('work', {}, 'c1')] }, 'done'],
      tools: { work: { description: 'Works', inputSchema: { jsonSchema: { type: 'object' } }, execute } },
    });
    await made.evaluate();
    expect(made.events.filter(isToolProgress).map(({ data }) => data)).toEqual([
      { status: 'loading' },
      { status: 'ready' },
    ]);
    expect(made.results().c1?.content).toMatchObject([{ text: '{"status":"ready"}' }]);
  });

  test('D62: progress notifications of an MCP server are progress', async () => {
    const tools = await mcpTools({
      listTools: async () => ({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] }),
      callTool: async (_, __, options) => {
        options?.onprogress?.({ progress: 1, total: 4, message: 'a quarter' });
        options?.onprogress?.({ progress: 7 });
        return { content: [{ type: 'text', text: 'ok' }] };
      },
    });
    const made = await agent({ script: [{ toolCalls: [call('work', {}, 'c1')] }, 'done'], tools });
    await made.evaluate();
    expect(reports(made.events)).toEqual([
      { text: 'a quarter\n', percent: 25, data: { progress: 1, total: 4 }, offset: 0 },
      { text: '', percent: undefined, data: { progress: 7 }, offset: 10 },
    ]);
  });
});
