import { describe, expect, test } from 'vitest';
import { threadTree } from '../../src/conversation/selectors.ts';
import { textOf } from '../../src/core/log/messages.ts';
import { parseTranscript, transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import { MAIN_THREAD, RolloutBuilder, threadId } from './codex-fixtures.ts';
import { type Line, type PlainState, plain } from './fixtures.ts';

interface Parsed {
  readonly state: PlainState;
  readonly problems: readonly string[];
}

function parse(main: RolloutBuilder, children: Readonly<Record<string, RolloutBuilder>>): Parsed {
  const subagents = Object.entries(children).map(([id, builder]) => ({ id, transcript: builder.text }));
  const { state, diagnostics } = parseTranscript('codex', { main: main.text, subagents });
  return { state: plain(state), problems: diagnostics.problems.map(({ code }) => code) };
}

const CHILD = threadId(2);
const GRANDCHILD = threadId(3);

const spawned = (thread: string, parent: string, more: Line = {}): Line => ({
  id: thread,
  parent_thread_id: parent,
  ...more,
});
const spawn = (builder: RolloutBuilder, callId: string, thread: string, message = 'Work'): RolloutBuilder =>
  builder
    .calls(callId, 'spawn_agent', { message }, { namespace: 'multi_agent_v1' })
    .returns(callId, JSON.stringify({ agent_id: thread, nickname: 'Ada' }));
const texts = (thread: PlainState['subagents'][number] | undefined): unknown[] =>
  thread?.blocks.flatMap(({ content }) => (content === undefined ? [] : [content])) ?? [];

/** A child with its parent's lines copied before its own, as Codex writes it. */
function withCopies(parent: RolloutBuilder, meta: Line, own: (builder: RolloutBuilder) => void): RolloutBuilder {
  const builder = new RolloutBuilder(
    { ...meta, subagent_history_start_ordinal: 1 + parent.lines.length },
    { second: 30 },
  );
  for (const { type, payload, metadata } of parent.lines) {
    builder.line(type as string, payload as Line, metadata === undefined ? {} : { metadata });
  }
  own(builder);
  return builder;
}

describe('subagents of version 1', () => {
  test('a nested subagent is under the subagent that started it', () => {
    const main = spawn(new RolloutBuilder().prompt('Go'), 'c1', CHILD);
    const child = spawn(
      new RolloutBuilder(spawned(CHILD, MAIN_THREAD), { second: 10 }).prompt('Work'),
      'c2',
      GRANDCHILD,
    )
      .says('Waiting')
      .event({ type: 'task_complete', last_agent_message: 'Child is done' });
    const grandchild = new RolloutBuilder(spawned(GRANDCHILD, CHILD), { second: 12 })
      .prompt('Deep work')
      .event({ type: 'task_complete', last_agent_message: 'Deep result' });
    const { state, problems } = parse(main, { [GRANDCHILD]: grandchild, [CHILD]: child });
    expect(
      state.subagents.map(({ toolUseId, parentConversationId, status, output }) => [
        toolUseId,
        parentConversationId,
        status,
        output,
      ]),
    ).toEqual([
      ['c1', 'main', 'success', 'Child is done'],
      ['c2', 'c1', 'success', 'Deep result'],
    ]);
    expect(problems).toEqual([]);
    const { state: whole } = parseTranscript('codex', {
      main: main.text,
      subagents: [
        { id: CHILD, transcript: child.text },
        { id: GRANDCHILD, transcript: grandchild.text },
      ],
    });
    expect(threadTree(whole).children[0]?.children[0]?.conversationId).toBe('c2');
  });

  test('the copied beginning of a subagent is not shown again', () => {
    const main = new RolloutBuilder().prompt('Secret of the parent').says('Parent text');
    const child = withCopies(main, spawned(CHILD, MAIN_THREAD), (builder) => builder.prompt('Work').says('Own text'));
    const { state } = parse(spawn(main, 'c1', CHILD), { [CHILD]: child });
    expect(texts(state.subagents[0])).toEqual(['Work', 'Own text']);
  });

  test('without ordinals, the copies end where a turn starts that is younger than the thread', () => {
    const old = { type: 'task_started', turn_id: threadId(1) };
    const main = new RolloutBuilder({ legacy: true }).event(old).prompt('Parent prompt').says('Parent text');
    const child = new RolloutBuilder({ legacy: true, ...spawned(CHILD, MAIN_THREAD) }, { second: 30 });
    for (const { type, payload } of main.lines) child.line(type as string, payload as Line);
    child
      .event({ type: 'task_started', turn_id: threadId(4) })
      .prompt('Work')
      .says('Own text');
    const { state } = parse(spawn(main, 'c1', CHILD), { [CHILD]: child });
    expect(texts(state.subagents[0])).toEqual(['Work', 'Own text']);
  });

  test('a subagent’s rollout that is opened as a session of its own shows what its model saw', () => {
    const main = new RolloutBuilder().prompt('Parent prompt').says('Parent text');
    const child = withCopies(main, spawned(CHILD, MAIN_THREAD), (builder) => builder.prompt('Work').says('Own text'));
    const messages = transcriptToMessages('codex', child.text);
    expect(messages.map(textOf)).toEqual(['Parent prompt', 'Parent text', 'Work', 'Own text']);
  });

  test.for([
    [
      'a call that waits',
      (b: RolloutBuilder) =>
        b.calls('w', 'wait_agent').returns('w', JSON.stringify({ status: { [CHILD]: { completed: 'Result' } } })),
    ],
    [
      'a notification',
      (b: RolloutBuilder) =>
        b.item({
          type: 'message',
          role: 'user',
          content: [
            {
              type: 'input_text',
              text: `<subagent_notification>\n${JSON.stringify({ agent_path: CHILD, status: { completed: 'Result' } })}\n</subagent_notification>`,
            },
          ],
        }),
    ],
    [
      'an item',
      (b: RolloutBuilder) =>
        b.completed({
          type: 'CollabAgentToolCall',
          id: 'w',
          tool: 'wait',
          agents_states: { [CHILD]: { completed: 'Result' } },
        }),
    ],
  ] as const)('a subagent whose rollout is missing ends with the result in %s', ([, add]) => {
    const { state } = parse(add(spawn(new RolloutBuilder().prompt('Go'), 'c1', CHILD)), {});
    expect(state.subagents).toMatchObject([{ toolUseId: 'c1', agentId: CHILD, status: 'success', output: 'Result' }]);
    expect(state.blocks.filter(({ subtype }) => subtype === 'subagent_notification')).toEqual([]);
  });

  test('the item of a call links its thread when the output of the call is missing', () => {
    const item = { type: 'CollabAgentToolCall', id: 'c1', tool: 'spawnAgent', receiver_thread_ids: [CHILD] };
    const main = new RolloutBuilder().prompt('Go').calls('c1', 'spawn_agent', { message: 'Work' }).completed(item);
    const child = new RolloutBuilder(spawned(CHILD, MAIN_THREAD), { second: 10 }).prompt('Work').says('Working');
    const { state, problems } = parse(main, { [CHILD]: child });
    expect(state.subagents.map((thread) => [thread.toolUseId, thread.agentId, texts(thread)])).toEqual([
      ['c1', CHILD, ['Work', 'Working']],
    ]);
    expect(problems).toEqual([]);
  });

  test('a notification about an agent that is not known is shown as a notice, not as a prompt', () => {
    const text = '<subagent_notification>{"agent_path":"gone","status":{"completed":"Result"}}</subagent_notification>';
    const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
    const { state } = parse(new RolloutBuilder().prompt('Go').item(item).says('Fine'), {});
    expect(state.blocks.map(({ type, subtype }) => subtype ?? type)).toEqual([
      'user_message',
      'subagent_notification',
      'assistant_text',
    ]);
  });

  test('a result that a call returned is not sent again as a notification, one that it did not return is', () => {
    const notification = {
      type: 'message',
      role: 'user',
      content: [
        {
          type: 'input_text',
          text: `<subagent_notification>${JSON.stringify({ agent_path: CHILD, status: { completed: 'Result' } })}</subagent_notification>`,
        },
      ],
    };
    const waited = JSON.stringify({ status: { [CHILD]: { completed: 'Result' } } });
    const start = (): RolloutBuilder => spawn(new RolloutBuilder().prompt('Go'), 'c1', CHILD);
    const users = (builder: RolloutBuilder): number =>
      transcriptToMessages('codex', builder.text).filter(({ role }) => role === 'user').length;
    expect(users(start().calls('w', 'wait_agent').returns('w', waited).item(notification).says('Fine'))).toBe(1);
    expect(users(start().item(notification).says('Fine'))).toBe(2);
  });

  test('a subagent that was running when the session ended has failed', () => {
    const child = new RolloutBuilder(spawned(CHILD, MAIN_THREAD), { second: 10 }).prompt('Work').calls('x');
    const { state } = parse(spawn(new RolloutBuilder().prompt('Go'), 'c1', CHILD).event({ type: 'task_complete' }), {
      [CHILD]: child,
    });
    expect(state.subagents).toMatchObject([
      { status: 'error', blocks: [{ type: 'user_message' }, { type: 'tool_use', status: 'error' }] },
    ]);
    expect(state.blocks.at(-1)).toMatchObject({ type: 'subagent', status: 'error' });
  });

  test('a subagent that had ended stays as it ended when it is closed, and takes the result of a later turn', () => {
    const state = (status: unknown): Line => ({
      type: 'CollabAgentToolCall',
      id: 'w',
      tool: 'wait',
      agents_states: { [CHILD]: status },
    });
    const main = spawn(new RolloutBuilder().prompt('Go'), 'c1', CHILD).completed(state({ completed: 'First' }));
    main.completed(state('shutdown'));
    expect(parse(main, {}).state.subagents).toMatchObject([{ status: 'success', output: 'First' }]);
    main.completed(state({ completed: 'Second' }));
    expect(parse(main, {}).state.subagents).toMatchObject([{ status: 'success', output: 'Second' }]);
  });

  test('a call that started no subagent ends as an error with its text', () => {
    const main = new RolloutBuilder()
      .prompt('Go')
      .calls('c1', 'spawn_agent', { message: 'Work' })
      .returns('c1', 'collab spawn failed: limit');
    expect(parse(main, {}).state.blocks.at(-1)).toMatchObject({
      type: 'subagent',
      status: 'error',
      output: 'collab spawn failed: limit',
    });
  });

  test('a thread that no call names is shown under its parent, and reported', () => {
    const child = new RolloutBuilder(spawned(CHILD, MAIN_THREAD), { second: 10 }).prompt('Work');
    const { state, problems } = parse(new RolloutBuilder().prompt('Go'), { [CHILD]: child });
    expect(state.subagents).toMatchObject([{ toolUseId: CHILD, parentConversationId: 'main' }]);
    expect(texts(state.subagents[0])).toEqual(['Work']);
    expect(problems).toEqual(['unlinked-subagent']);
  });

  test('threads that name each other as parents, or themselves, are shown once', () => {
    const a = new RolloutBuilder(spawned(CHILD, GRANDCHILD), { second: 10 }).prompt('A');
    const b = new RolloutBuilder(spawned(GRANDCHILD, CHILD), { second: 11 }).prompt('B');
    const c = new RolloutBuilder(spawned(threadId(4), threadId(4)), { second: 12 }).prompt('C');
    const { state } = parse(new RolloutBuilder().prompt('Go'), { [CHILD]: a, [GRANDCHILD]: b, [threadId(4)]: c });
    expect(state.subagents.flatMap(texts).sort()).toEqual(['A', 'B', 'C']);
  });

  test('calls with the same id in two threads start two subagents', () => {
    const main = spawn(new RolloutBuilder().prompt('Go'), 'call_1', CHILD);
    const child = spawn(
      new RolloutBuilder(spawned(CHILD, MAIN_THREAD), { second: 10 }).prompt('Work'),
      'call_1',
      GRANDCHILD,
    );
    const grandchild = new RolloutBuilder(spawned(GRANDCHILD, CHILD), { second: 20 }).prompt('Deep work');
    const { state } = parse(main, { [CHILD]: child, [GRANDCHILD]: grandchild });
    expect(state.subagents.map((thread) => [thread.parentConversationId, texts(thread)])).toEqual([
      ['main', ['Work']],
      ['call_1', ['Deep work']],
    ]);
  });

  test('each thread counts its own usage', () => {
    const main = spawn(new RolloutBuilder().prompt('Go'), 'c1', CHILD).usage('r1');
    const child = withCopies(main, spawned(CHILD, MAIN_THREAD), (builder) =>
      builder.prompt('Work').says('Own').usage('r2', 7, 3),
    );
    const { state } = parse(main, { [CHILD]: child });
    expect(state.subagents[0]?.blocks.at(-1)).toMatchObject({
      message: { usage: { inputTokens: 7, outputTokens: 3 } },
    });
  });
});

describe('subagents of version 2', () => {
  const PATH = '/root/review';
  const start = (output: string): RolloutBuilder =>
    new RolloutBuilder()
      .prompt('Go')
      .calls('c1', 'spawn_agent', { task_name: 'review', message: 'gAAAA' }, { namespace: 'collaboration' })
      .returns('c1', output);
  const activity = (kind: string): Line => ({
    type: 'SubAgentActivity',
    id: 'c1',
    kind,
    agent_thread_id: CHILD,
    agent_path: PATH,
  });
  const childMeta = spawned(CHILD, MAIN_THREAD, {
    source: { subagent: { thread_spawn: { parent_thread_id: MAIN_THREAD, depth: 1, agent_path: PATH } } },
  });
  const message = (author: string, recipient: string, text: string): Line => ({
    type: 'agent_message',
    author,
    recipient,
    content: [{ type: 'input_text', text }],
  });

  test('the activity links the call, and the final message of the subagent ends it', () => {
    const main = start(`{"task_name":"${PATH}"}`)
      .completed(activity('started'))
      .item(
        message(PATH, '/root', `Message Type: FINAL_ANSWER\nTask name: /root\nSender: ${PATH}\nPayload:\nAll is well.`),
      )
      .says('Good');
    const { state, problems } = parse(main, {});
    expect(state.subagents).toMatchObject([
      { toolUseId: 'c1', agentId: CHILD, description: 'review', status: 'success', output: 'All is well.' },
    ]);
    expect(state.blocks.map(({ type }) => type)).toEqual(['user_message', 'subagent', 'assistant_text']);
    expect(problems).toEqual([]);
    expect(transcriptToMessages('codex', main.text).map(textOf)).toContain(`Message from agent ${PATH}:\nAll is well.`);
  });

  test('the activity of a call links its thread, also without a path', () => {
    const { agent_path: _, ...pathless } = activity('started');
    const child = new RolloutBuilder(spawned(CHILD, MAIN_THREAD), { second: 10 }).says('Reviewing');
    const { state, problems } = parse(start('Started.').completed(pathless), { [CHILD]: child });
    expect(state.subagents.map((thread) => [thread.toolUseId, thread.agentId, texts(thread)])).toEqual([
      ['c1', CHILD, ['Reviewing']],
    ]);
    expect(problems).toEqual([]);
  });

  test.for([`{"task_name":"${PATH}"}`, PATH])(
    'a thread is linked by its path when no activity names it; the output was %j',
    (output) => {
      const child = new RolloutBuilder(childMeta, { second: 10 })
        .item(
          message(
            '/root',
            PATH,
            'Message Type: NEW_TASK\nTask name: /root/review\nSender: /root\nPayload:\nReview it.',
          ),
        )
        .says('Reviewing');
      const { state, problems } = parse(start(output), { [CHILD]: child });
      expect(state.subagents.map((thread) => [thread.toolUseId, texts(thread)])).toEqual([
        ['c1', ['Review it.', 'Reviewing']],
      ]);
      expect(state.subagents[0]?.blocks.map(({ type }) => type)).toEqual(['user_message', 'assistant_text']);
      expect(problems).toEqual([]);
    },
  );

  test('a thread is linked by the path in the output of its call, which may differ from the name in its arguments', () => {
    const meta = spawned(CHILD, MAIN_THREAD, { agent_path: '/root/review_2' });
    const child = new RolloutBuilder(meta, { second: 10 }).says('Reviewing');
    const { state, problems } = parse(start('/root/review_2'), { [CHILD]: child });
    expect(state.subagents.map((thread) => [thread.toolUseId, texts(thread)])).toEqual([['c1', ['Reviewing']]]);
    expect(problems).toEqual([]);
  });

  test('an encrypted message is shown without its text', () => {
    const child = new RolloutBuilder(childMeta, { second: 10 })
      .item({
        type: 'agent_message',
        id: 'a1',
        author: '/root',
        recipient: PATH,
        content: [{ type: 'encrypted_content', encrypted_content: 'x' }],
      })
      .says('Done');
    const { state } = parse(start(PATH), { [CHILD]: child });
    expect(state.subagents[0]?.blocks).toMatchObject([
      { type: 'system', subtype: 'agent_message', content: '' },
      { content: 'Done' },
    ]);
  });

  test('an activity without its call starts a subagent, an interruption ends it', () => {
    const main = new RolloutBuilder().prompt('Go').completed(activity('started')).completed(activity('interrupted'));
    expect(parse(main, {}).state.subagents).toMatchObject([{ toolUseId: CHILD, status: 'error' }]);
  });
});

test('a thread waits for the call that started it, whatever their times are', () => {
  const main = spawn(new RolloutBuilder({}, { second: 100 }).prompt('Go'), 'c1', CHILD);
  const child = new RolloutBuilder(spawned(CHILD, MAIN_THREAD), { second: 0 }).prompt('Older than its call');
  const { state } = parse(main, { [CHILD]: child });
  expect(state.subagents.map((thread) => [thread.toolUseId, texts(thread)])).toEqual([['c1', ['Older than its call']]]);
});
