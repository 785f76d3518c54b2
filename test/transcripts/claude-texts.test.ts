/** What people typed into Claude Code, what they did not, and what a page would show as an empty box. */
import { describe, expect, test } from 'vitest';
import { claudeStreamConverter } from '../../src/transcripts/claude/stream-converter.ts';
import { transcriptToMessages } from '../../src/transcripts/parse-transcript.ts';
import {
  asks,
  at,
  blockDelta,
  blockStart,
  blockStop,
  call,
  DONE,
  INIT,
  messageStart,
  returns,
  says,
  text,
} from './claude-builders.ts';
import { parse } from './claude-lines.ts';
import { type Line, plain, stateOf, textOfLines } from './fixtures.ts';
import { refusals } from './refusals.ts';
import { outlineOf } from './sendable.ts';

const queue = (operation: string, content?: string, more: Line = {}): Line => ({
  type: 'queue-operation',
  operation,
  timestamp: at(),
  sessionId: 's',
  ...(content !== undefined && { content }),
  ...more,
});

const attachment = (kind: string, fields: Line, more: Line = {}): Line => ({
  type: 'attachment',
  uuid: `attachment-${kind}`,
  sessionId: 's',
  timestamp: at(),
  attachment: { type: kind, ...fields },
  ...more,
});

const prompts = (lines: readonly Line[]): unknown[] =>
  parse(lines).blocks.flatMap(({ type, content }) => (type === 'user_message' ? [content] : []));

describe('texts that were typed while the agent worked', () => {
  const working = [asks('p', 'Go'), says('a1', 'm1', call('c'))];
  const done = [returns('r', 'c', 'out'), says('a2', 'm2', text('Done'))];
  /** A text that only the queue holds, in the same file. */
  const onlyQueued = [queue('enqueue', 'Only queued'), queue('remove', 'Only queued')];

  test.for([
    ['with the text', 'Also this'],
    ['without it', undefined],
  ])('a queued text that the agent got is a prompt: removed %s', ([, removed]) => {
    const lines = [...working, queue('enqueue', 'Also this'), queue('remove', removed), ...done];
    expect(prompts(lines)).toEqual(['Go', 'Also this']);
    expect(outlineOf(lines)).toEqual([
      'user: Go',
      'assistant:  [c]',
      'tool: out',
      'user: Also this',
      'assistant: Done',
    ]);
  });

  test.for([
    ['a user line before the operation', [asks('u', 'Also this'), queue('remove', 'Also this')]],
    ['a user line after it', [queue('remove', 'Also this'), asks('u', [text('Also this')])]],
    ['an attachment', [queue('remove'), attachment('queued_command', { prompt: 'Also this' })]],
    ['the prompt that it becomes', [queue('dequeue'), asks('u', 'Also this')]],
  ] as const)(
    'a queued text that %s repeats is shown once, and one that nothing repeats is shown, too',
    ([, repeated]) => {
      const lines = [...working, queue('enqueue', 'Also this'), ...repeated, ...onlyQueued, ...done];
      expect(prompts(lines)).toEqual(['Go', 'Also this', 'Only queued']);
      expect(outlineOf(lines).filter((line) => line.includes('Also this'))).toHaveLength(1);
      expect(outlineOf(lines)).toContain('user: Only queued');
    },
  );

  test.for([
    ['took back', [queue('popAll')]],
    ['deleted', [queue('remove', 'Never mind', { reason: 'user_cancelled' })]],
    ['left in the queue', []],
  ] as const)('a queued text that the user %s is no prompt, unlike one that the agent got', ([, operations]) => {
    const lines = [...working, queue('enqueue', 'Never mind'), ...operations, ...onlyQueued, ...done];
    expect(prompts(lines)).toEqual(['Go', 'Only queued']);
    expect(outlineOf(lines).join()).not.toContain('Never mind');
  });

  test('a text that is queued after the user took the others back is the next one that the agent gets', () => {
    const lines = [...working, queue('enqueue', 'Never mind'), queue('popAll'), queue('enqueue', 'Rather this')];
    expect(prompts([...lines, queue('remove'), ...done])).toEqual(['Go', 'Rather this']);
  });

  test('queued texts leave the queue in their order, and by their text', () => {
    const lines = [
      ...working,
      ...['One', 'Two', 'Three'].map((content) => queue('enqueue', content)),
      ...[queue('remove', 'Two'), queue('remove'), ...done],
      ...[queue('remove'), says('a3', 'm3', text('More'))],
    ];
    expect(prompts(lines)).toEqual(['Go', 'Two', 'One', 'Three']);
  });

  test('a queued command that runs is shown as the command', () => {
    const command = '<command-name>/compact</command-name><command-args>now</command-args>';
    const lines = [...working, ...done, queue('enqueue', '/compact now'), queue('dequeue'), asks('u', command)];
    expect(prompts(lines)).toEqual(['Go']);
  });
});

describe('texts that no user typed', () => {
  test.for([
    ['<teammate-message teammate_id="lead">Stop</teammate-message>', 'teammate'],
    ['<bash-notification>\n<shell-id>b1</shell-id>\n</bash-notification>', 'task_notification'],
    ['<agent-notification><agent-id>x</agent-id></agent-notification>', 'task_notification'],
    ['<ide_opened_file>The user opened a.ts</ide_opened_file>', 'context'],
    ['<ide_selection>lines 1 to 3</ide_selection>', 'context'],
    ['<user-prompt-submit-hook>Be brief</user-prompt-submit-hook>', 'context'],
    ['<user-memory-input>Use tabs</user-memory-input>', 'memory'],
  ] as const)('%s is a notice, and the model gets it', ([content, subtype]) => {
    expect(parse([asks('u', content)]).blocks).toMatchObject([{ type: 'system', subtype }]);
    expect(outlineOf([asks('u', content)])).toEqual([`user: ${content}`]);
  });

  test.for([
    ['in one text', '<ide_opened_file>a.ts</ide_opened_file>\nFix it'],
    ['in a text of its own', [text('<ide_opened_file>a.ts</ide_opened_file>'), text('Fix it')]],
  ])('a prompt after a context is a prompt: %s', ([, content]) => {
    expect(parse([asks('u', content)]).blocks).toMatchObject([
      { type: 'system', subtype: 'context', content: '<ide_opened_file>a.ts</ide_opened_file>' },
      { type: 'user_message', id: 'u', content: 'Fix it' },
    ]);
    expect(outlineOf([asks('u', content)])[0]).toContain('Fix it');
  });

  test.for([
    ['<command-name>/compact</command-name>\n<command-message>compact</command-message>', 'command', '/compact'],
    [
      '<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>the <b> tag</command-args>',
      'command',
      '/review the <b> tag',
    ],
    ['<bash-input>ls -l</bash-input>', 'command', '! ls -l'],
    ['<bash-stdout>one\n</bash-stdout><bash-stderr>two</bash-stderr>', 'command_output', 'one\n\n\ntwo'],
    ['<local-command-stdout>\u001b[1mBold\u001b[22m</local-command-stdout>', 'command_output', 'Bold'],
    ['<local-command-caveat>Ignore this</local-command-caveat>', 'command_caveat', 'Ignore this'],
  ] as const)('%s is shown without tags', ([content, subtype, shown]) => {
    expect(parse([asks('u', content)]).blocks).toMatchObject([{ type: 'system', subtype, content: shown }]);
    const line = { type: 'system', subtype: 'local_command', uuid: 's', timestamp: at(), content };
    expect(parse([line]).blocks).toMatchObject([{ type: 'system', content: shown }]);
  });

  test('the model gets the commands that the user ran in a shell, and not those of the program', () => {
    const lines = [
      asks('b1', '<bash-input>ls</bash-input>'),
      asks('b2', '<bash-stdout>a.ts</bash-stdout>'),
      asks('c1', '<command-name>/model</command-name>'),
      asks('c2', '<local-command-stdout>Set</local-command-stdout>'),
    ];
    expect(outlineOf(lines)).toEqual(['user: <bash-input>ls</bash-input>', 'user: <bash-stdout>a.ts</bash-stdout>']);
  });
});

describe('what would be an empty box', () => {
  test.for([
    ['an empty thought', says('a', 'm', { type: 'thinking', thinking: '', signature: 'x' })],
    ['a redacted thought', says('a', 'm', { type: 'redacted_thinking', data: 'x' })],
    ['a blank text', says('a', 'm', text('\n\n'))],
    ['a duration', { type: 'system', subtype: 'turn_duration', durationMs: 3, uuid: 's', timestamp: at() }],
    [
      'hooks without output',
      { type: 'system', subtype: 'stop_hook_summary', hookErrors: [], uuid: 's', timestamp: at() },
    ],
    ['an empty output of a command', asks('u', '<local-command-stdout></local-command-stdout>')],
    ['a blank prompt', asks('u', '  ')],
    ['a switch of models', says('a', 'm', { type: 'fallback', from: 'a', to: 'b' })],
  ] as const)('%s becomes no block', ([, line]) => {
    const state = parse([line as Line]);
    expect(state.blocks).toEqual([]);
    expect(Object.values(state.diagnostics.counts)).toEqual([1]);
    expect(state.diagnostics.unknown).toEqual({});
  });

  test('the blocks of a response keep their ids when an empty one is left out (D46)', () => {
    const lines = [says('a1', 'm', { type: 'thinking', thinking: '', signature: 'x' }), says('a2', 'm', text('Hi'))];
    expect(parse(lines).blocks.map(({ id }) => id)).toEqual(['m:1']);
  });

  test('a streamed block that stays empty is removed: the stream ends in the state of the transcript (D47)', () => {
    const converter = claudeStreamConverter({ now: at });
    const thought = { type: 'thinking', thinking: '', signature: 'x' };
    const messages = [
      ...[INIT, messageStart('m'), blockStart(0, thought), blockStop(0)],
      ...[blockStart(1, text('')), blockDelta(1, { type: 'text_delta', text: ' \n' }), blockStop(1)],
      ...[blockStart(2, text('')), blockDelta(2, { type: 'text_delta', text: 'Hi' }), blockStop(2), DONE],
    ];
    const state = plain(
      stateOf(
        messages.flatMap((message) => converter.push(message)),
        converter.end(),
      ),
    );
    expect(state.blocks.map(({ id, content }) => [id, content])).toEqual([['m:2', 'Hi']]);
  });

  test('hooks that failed are shown with their errors', () => {
    const line = {
      type: 'system',
      subtype: 'stop_hook_summary',
      hookErrors: ['lint failed'],
      uuid: 's',
      timestamp: at(),
    };
    expect(parse([line]).blocks).toMatchObject([{ type: 'system', content: 'lint failed' }]);
  });

  test.for([
    [{ content: 'Overloaded' }, 'Overloaded'],
    [
      { error: { status: 529, error: { type: 'error', error: { message: 'Overloaded' } } } },
      'API error 529: Overloaded',
    ],
    [{ error: { status: 400, error: { message: 'Bad request' } } }, 'API error 400: Bad request'],
    [{ error: { message: '500 oops', status: 500 } }, '500 oops'],
    [{ error: { status: 503, headers: {} } }, 'API error 503'],
    [{ error: {}, cause: { code: 'ECONNRESET' } }, 'ECONNRESET'],
    [{}, 'API error'],
  ] as const)('the text of an API error %j is %s', ([fields, content]) => {
    const line = { type: 'system', subtype: 'api_error', uuid: 'e', timestamp: at(), ...fields };
    expect(parse([line]).blocks).toMatchObject([{ type: 'error', subtype: 'api_error', content }]);
  });
});

describe('lines that are not shown', () => {
  test.for([
    'pr-link',
    'bridge-session',
    'agent-name',
    'worktree-state',
    'content-replacement',
    'tag',
    'agent-color',
    'agent-setting',
    'relocated',
    'frame-link',
    'isolation-latch',
    'artifact-autoreact-ledger',
    'marble-origami-commit',
    'marble-origami-snapshot',
    'started',
    'result',
  ])('%s is bookkeeping', (type) => {
    const { blocks, diagnostics } = parse([{ type, sessionId: 's', timestamp: at() }]);
    expect(blocks).toEqual([]);
    expect(diagnostics).toMatchObject({ counts: { [type]: 1 }, unknown: {} });
  });

  test.for([
    ['hook_success', { hookName: 'SessionStart', content: 'Use pnpm' }, 'Use pnpm'],
    ['hook_additional_context', { hookName: 'Stop', content: ['One', 'Two'] }, 'One\nTwo'],
    ['task_reminder', { content: [{ id: '1', subject: 'Write tests', status: 'pending' }] }, '- Write tests (pending)'],
    ['edited_text_file', { filename: '/a.ts', snippet: '1→x' }, '/a.ts was changed'],
    [
      'diagnostics',
      { files: [{ uri: 'a.ts', diagnostics: [{ message: 'Unused', severity: 'Warning' }] }] },
      'a.ts: Unused (Warning)',
    ],
    ['goal_status', { goal: 'Ship it' }, 'Ship it'],
    ['plan_mode', { reminderType: 'full', planFilePath: '/p.md' }, '/p.md'],
    [
      'file',
      { filename: '/a.txt', content: { type: 'text', file: { filePath: '/a.txt', content: 'hello' } } },
      '/a.txt:\nhello',
    ],
  ] as const)('the attachment %s is not shown, and the model gets it', ([kind, fields, expected]) => {
    const lines = [asks('p', 'Go'), says('a', 'm', call('c')), attachment(kind, fields), returns('r', 'c', 'out')];
    expect(parse(lines).blocks).toHaveLength(3);
    const outline = outlineOf(lines);
    expect(outline).toHaveLength(4);
    expect(outline[3]).toMatch(/^user: <system-reminder>/);
    expect(outline[3]).toContain(expected);
  });

  test('an attachment reads as the model got it, where its line says so', () => {
    const rendered = [{ content: '<system-reminder>\nAs sent\n</system-reminder>' }];
    const lines = [attachment('file', { filename: '/a' }, { rendered })];
    expect(outlineOf(lines)).toEqual(['user: <system-reminder>\nAs sent\n</system-reminder>']);
  });

  test('settings among the attachments are not sent', () => {
    expect(
      outlineOf([attachment('deferred_tools_delta', { addedNames: ['x'] }), attachment('hook_success', {})]),
    ).toEqual([]);
  });

  test('a document in a meta line is shown by its type, and the model gets it', () => {
    const source = { type: 'base64', media_type: 'application/pdf', data: 'AAAA' };
    const lines = [asks('u', [{ type: 'document', source }], { isMeta: true })];
    expect(parse(lines).blocks).toMatchObject([
      { type: 'system', subtype: 'meta', content: '[application/pdf]', data: [{ mediaType: 'application/pdf' }] },
    ]);
    const messages = transcriptToMessages('claude-sdk', textOfLines(lines));
    expect(messages).toMatchObject([{ role: 'user', content: [{ type: 'file', mediaType: 'application/pdf' }] }]);
  });
});

describe('what providers would refuse', () => {
  test.for([
    ['an empty result', ''],
    ['a result without parts', []],
    ['a blank result', [text(' ')]],
  ])('%s can be sent', ([, content]) => {
    const lines = [asks('p', 'Go'), says('a', 'm', call('c')), returns('r', 'c', content)];
    expect(outlineOf(lines)).toEqual(['user: Go', 'assistant:  [c]', 'tool: ']);
  });

  test('an empty failure says that the tool failed', () => {
    const result = { type: 'tool_result', tool_use_id: 'c', content: '', is_error: true };
    expect(outlineOf([says('a', 'm', call('c')), asks('r', [result])])).toEqual([
      'assistant:  [c]',
      'tool: The tool failed.',
    ]);
  });

  test('odd ids, odd names and thoughts without a signature can be sent', () => {
    const lines = [
      says('a1', 'm1', { type: 'thinking', thinking: 'Hm' }),
      says('a2', 'm1', call('<c>', 'a tool')),
      returns('r1', '<c>', 'out'),
      says('a3', 'm2', call('<c>')),
      returns('r2', '<c>', 'again'),
      says('a4', 'm3', text('Done')),
      says('a5', 'm3', { type: 'thinking', thinking: 'And now?', signature: 'x' }),
    ];
    const messages = transcriptToMessages('claude-sdk', textOfLines(lines));
    expect(refusals(messages)).toEqual([]);
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant', 'tool', 'assistant']);
  });
});
