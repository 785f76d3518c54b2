import { expect, test } from 'vitest';
import type { ClaudeAgentSdk, ClaudeMessage } from '../../src/agents/claude-agent/sdk-types.ts';
import { claudeAgentAdapter } from '../../src/claude-agent.ts';
import { textOf } from '../../src/core/log/messages.ts';
import { definePrompt } from '../../src/loop/define/define-prompt.ts';
import type { RunResult } from '../../src/loop/evaluate/provider-adapter.ts';
import { openSession, type Session } from '../../src/session/session.ts';
import { memoryStore } from '../../src/stores/memory.ts';

/** How steers reach Claude Code: the order of the adapter's steps, for any behaviour of the SDK (D61). */

type Hook = (input: unknown) => Promise<Readonly<Record<string, unknown>>>;

/** Claude Code, simulated by a test. */
interface Player {
  tell(message: ClaudeMessage): void;
  /** Calls the hook after the calls of a turn. */
  afterTools(callId: string, name?: string): Promise<void>;
  /** Ends the stream. */
  end(): void;
}

interface Play {
  readonly play: (claude: Player) => Promise<void>;
  readonly streamInput?: (messages: AsyncIterable<unknown>, claude: Player) => Promise<void>;
}

const ASSISTANT = { type: 'assistant', parent_tool_use_id: null };
const CALL: ClaudeMessage = {
  ...ASSISTANT,
  message: { id: 'msg_1', content: [{ type: 'tool_use', id: 'toolu_1', name: 'Read', input: {} }] },
};
const RESULT: ClaudeMessage = {
  type: 'user',
  parent_tool_use_id: null,
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'hi' }] },
};

function sdkOf({ play, streamInput }: Play): ClaudeAgentSdk {
  let answers = 1;
  return {
    foldSessionSummary: (_, { sessionId }) => ({ sessionId, mtime: 0, data: {} }),
    query: ({ options }) => {
      const waiting: ClaudeMessage[] = [];
      let wake = (): void => {};
      let over = false;
      const hooks = options?.hooks as { readonly PostToolBatch: readonly { readonly hooks: readonly Hook[] }[] };
      const claude: Player = {
        end: () => end(),
        tell: (message) => {
          waiting.push(message);
          wake();
        },
        afterTools: async (callId, name = 'Read') => {
          const tool_calls = [{ tool_use_id: callId, tool_name: name }];
          await hooks.PostToolBatch[0]?.hooks[0]?.({ hook_event_name: 'PostToolBatch', tool_calls });
        },
      };
      const end = (): void => {
        over = true;
        wake();
      };
      const finish = async (): Promise<void> => {
        claude.tell({ type: 'system', subtype: 'init', session_id: 'one' });
        if (answers === 1) await play(claude);
        claude.tell({
          ...ASSISTANT,
          message: { id: `msg_${++answers}`, stop_reason: 'end_turn', content: [{ type: 'text', text: 'done' }] },
        });
        claude.tell({ type: 'result', subtype: 'success', result: 'done' });
        end();
      };
      void finish();
      return {
        async *[Symbol.asyncIterator]() {
          for (;;) {
            while (waiting.length > 0) yield waiting.shift() as ClaudeMessage;
            if (over) return;
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        },
        ...(streamInput && { streamInput: (messages: AsyncIterable<unknown>) => streamInput(messages, claude) }),
      };
    },
  };
}

const prompt = definePrompt({ ns: 'test', key: 'steers', instructions: '' });

async function run(play: (sender: Session) => Play): Promise<{ session: Session; result: RunResult }> {
  const store = memoryStore();
  const session = await openSession({ store, id: 'one' });
  const sender = await openSession({ store, id: 'one' });
  await sender.send('go');
  const result = await claudeAgentAdapter({ sdk: sdkOf(play(sender)) }).run(prompt, { session });
  return { session, result };
}

const steer = (sender: Session, text = 'steer') => sender.send(text, { mode: 'steer' });
const rolesOf = (session: Session) => session.messages().map(({ role }) => role);

test('D61: a steer is in the log before it is sent to Claude Code, and the hook returns when Claude Code has queued it', async () => {
  const order: string[] = [];
  const { session, result } = await run((sender) => ({
    play: async (claude) => {
      claude.tell(CALL);
      claude.tell(RESULT);
      await steer(sender);
      await claude.afterTools('toolu_1');
      order.push('the hook has returned');
    },
    streamInput: async (messages, claude) => {
      for await (const message of messages) {
        await sender.refresh();
        expect(sender.messages().at(-1)).toMatchObject({ role: 'user', content: [{ text: 'steer' }] });
        expect(message).toMatchObject({ type: 'user', message: { content: [{ type: 'text', text: 'steer' }] } });
        const { uuid } = message as { readonly uuid: string };
        setImmediate(() => {
          order.push('queued');
          claude.tell({ type: 'command_lifecycle', command_uuid: uuid, state: 'queued' });
        });
      }
    },
  }));
  expect(order).toEqual(['queued', 'the hook has returned']);
  expect(result).toMatchObject({ status: 'idle', responses: [{ status: 'completed' }] });
  expect(rolesOf(session)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant']);
  expect(session.queue()).toEqual([]);
});

test('D61: a steer is placed after the results of the turn, also when the hook runs before the stream yields them', async () => {
  const { session } = await run((sender) => ({
    play: async (claude) => {
      claude.tell(CALL);
      await steer(sender);
      const hook = claude.afterTools('toolu_1');
      setImmediate(() => claude.tell(RESULT));
      await hook;
    },
    streamInput: async (messages, claude) => {
      for await (const message of messages) {
        const { uuid } = message as { readonly uuid: string };
        claude.tell({ type: 'command_lifecycle', command_uuid: uuid, state: 'queued' });
      }
    },
  }));
  expect(rolesOf(session)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant']);
});

test('D61: if the SDK accepts no input while it runs, the steer stays queued and is run next', async () => {
  const { session, result } = await run((sender) => ({
    play: async (claude) => {
      claude.tell(CALL);
      claude.tell(RESULT);
      await steer(sender);
      await claude.afterTools('toolu_1');
    },
  }));
  expect(result).toMatchObject({ status: 'idle', responses: [{ status: 'completed' }, { status: 'completed' }] });
  expect(rolesOf(session)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant']);
});

test('D61: a steer during a structured response is not sent, and is run next', async () => {
  const { result, session } = await run((sender) => ({
    play: async (claude) => {
      await steer(sender);
      await claude.afterTools('toolu_1', 'StructuredOutput');
    },
    streamInput: () => Promise.reject(new Error('never called')),
  }));
  expect(result).toMatchObject({ status: 'idle', responses: [{ status: 'completed' }, { status: 'completed' }] });
  expect(rolesOf(session)).toEqual(['user', 'assistant', 'user', 'assistant']);
});

test('D61: neither a withdrawn steer nor a follow-up is sent to Claude Code', async () => {
  const handed: unknown[] = [];
  const { session, result } = await run((sender) => ({
    play: async (claude) => {
      claude.tell(CALL);
      claude.tell(RESULT);
      const { id } = await steer(sender);
      await sender.withdraw(id);
      await sender.send('later');
      await claude.afterTools('toolu_1');
    },
    streamInput: async (messages) => {
      for await (const message of messages) handed.push(message);
    },
  }));
  expect(handed).toEqual([]);
  expect(result).toMatchObject({ responses: [{ status: 'completed' }, { status: 'completed' }] });
  expect(
    session
      .messages()
      .filter(({ role }) => role === 'user')
      .map((message) => textOf(message)),
  ).toEqual(['go', 'later']);
});

test('D61: a steer that could not be sent suspends the evaluation: the agent does not continue without it', async () => {
  const { session, result } = await run((sender) => ({
    play: async (claude) => {
      claude.tell(CALL);
      claude.tell(RESULT);
      await steer(sender);
      await claude.afterTools('toolu_1');
    },
    streamInput: (_, claude) => {
      setImmediate(() => claude.end());
      return Promise.reject(new Error('the pipe is closed'));
    },
  }));
  expect(result).toMatchObject({
    status: 'suspended',
    responses: [{ reason: 'PROVIDER_FAILED', message: expect.stringContaining('the pipe is closed') }],
  });
  expect(rolesOf(session)).toEqual(['user', 'assistant', 'tool', 'user']); // a resume sends it
});
