/** A conversation in which every text, of every kind, is the same. */
import type { ConversationBlock, ConversationEvent, SessionConversationState } from '../../src/conversation.ts';
import { call, completed, result, spawned, text, upsert } from '../conversation/builders.ts';
import { stateOf } from './own-log-builders.ts';

export function notice(id: string, content: string, fields: Partial<ConversationBlock> = {}): ConversationBlock {
  return { ...text(id), type: 'system', content, ...fields } as ConversationBlock;
}

const CALLS = 'Bash Read Write Edit MultiEdit apply_patch Grep WebFetch TodoWrite Task AskUserQuestion mcp__a__b'.split(
  ' ',
);

/** Input that every known tool finds its fields in. */
function inputOf(said: string): Record<string, unknown> {
  const edit = { old_string: said, new_string: `${said}\n${said}` };
  const fields = 'command file_path content pattern path glob url prompt query description subagent_type input'.split(
    ' ',
  );
  return {
    ...Object.fromEntries(fields.map((name) => [name, said])),
    ...edit,
    edits: [edit],
    todos: [{ content: said, status: said }],
    questions: [{ question: said }],
  };
}

/** A conversation in which every text, of every kind, is the same. */
export function everywhere(said: string): SessionConversationState {
  const events: ConversationEvent[] = [
    upsert(
      text('u', said, {
        type: 'user_message',
        attachments: [
          { mediaType: said, data: said, filename: said },
          { mediaType: 'image/png', data: said },
          { mediaType: 'image/svg+xml', data: 'PHN2Zz4=' },
        ],
      }),
    ),
    upsert(text('a', said, { timestamp: `2026-01-01T00:00:00${said}` })),
    upsert(text('i', said, { status: 'error' })),
    upsert(text('t', said, { type: 'thinking' })),
    upsert(call('c', { toolName: said, input: { [said]: said } })),
    upsert(result('c', { output: said, isError: true })),
    upsert(call('d', { toolName: said, inputText: said })),
    ...CALLS.map((toolName, i) => upsert(call(`k${i}`, { toolName, input: inputOf(said) }))),
    ...CALLS.map((_, i) => upsert(result(`k${i}`, { output: said }))),
    spawned('s', { prompt: said, subagentType: said, description: said }),
    upsert(text('x', said), 's'),
    completed('s', { output: said }),
    upsert(text('y', said), `detached ${said}`),
    upsert(notice('n', said, { subtype: said } as Partial<ConversationBlock>)),
    upsert(notice('long', said.repeat(100), { subtype: said } as Partial<ConversationBlock>)),
    upsert({ ...text('e'), type: 'error', subtype: said, content: said }),
    upsert({ ...text('k'), type: 'unknown', sourceType: said, data: { [said]: [said] } }),
  ];
  return stateOf(events);
}
