/** What the end of a Claude stream does to background subagents. */
import { expect, test } from 'vitest';
import { claudeStreamConverter } from '../../src/transcripts/claude/stream-converter.ts';
import { call, DONE, INIT, returns, says } from './claude-builders.ts';
import { claudeStream, type PlainState, plain, stateOf } from './fixtures.ts';

const spawned = says('u', 'm', call('t', 'Agent', { prompt: 'Work', subagent_type: 'helper' }));
const launched = returns('r', 't', 'launched', { tool_use_result: { isAsync: true, agentId: 'a1' } });

/** The state after a stream that ended, and after what followed a resume. */
function stateAfter(messages: readonly unknown[], resumed: readonly unknown[] = []): PlainState {
  const converter = claudeStreamConverter();
  const events = messages.flatMap((message) => converter.push(message));
  events.push(...converter.end(), ...resumed.flatMap((message) => converter.push(message)));
  return plain(stateOf(events));
}

test('a background subagent that runs when the stream ends has failed', () => {
  const { blocks, subagents } = stateAfter([INIT, spawned, launched, DONE]);
  expect(blocks).toMatchObject([{ type: 'subagent', status: 'error' }]);
  expect(subagents).toMatchObject([{ status: 'error', agentId: 'a1' }]);
});

test('a stream that is cut anywhere leaves no block pending', () => {
  const messages = claudeStream('subbg');
  for (let n = 0; n <= messages.length; n++) {
    const open = stateAfter(messages.slice(0, n)).blocks.filter(({ status }) => status === 'pending');
    expect(open, `after ${n} messages`).toEqual([]);
  }
});

test('a notification after a resume completes a background subagent that was cut off', () => {
  const task = { task_id: 'a1', tool_use_id: 't', status: 'completed', summary: 'found it' };
  const notification = { type: 'system', subtype: 'task_notification', ...task };
  const { subagents } = stateAfter([INIT, spawned, launched, DONE], [notification]);
  expect(subagents).toMatchObject([{ status: 'success', output: 'found it' }]);
});
