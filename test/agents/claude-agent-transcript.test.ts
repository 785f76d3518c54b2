/** Our log and the SDK's transcript complete each other before a resume (D57). */
import { afterEach, describe, expect, test } from 'vitest';
import type { ClaudeMessage } from '../../src/agents/claude-agent/sdk-types.ts';
import { claudeSessionStore, readClaudeSession } from '../../src/claude-agent.ts';
import { openSession } from '../../src/session/session.ts';
import { claudeStreamConverter } from '../../src/transcripts/claude/stream-converter.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { type Line, linesOf, plain, stateOf, textOfLines } from '../transcripts/fixtures.ts';
import { comparable, EXEMPTIONS, withoutExemptLines } from '../transcripts/parity-exemptions.ts';
import { call, echoCall, INPUT, prompt, ran, servers, stateIn, twoTurns, world } from './support/claude-world.ts';

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

describe("our log and the SDK's transcript", () => {
  test('D57: lines that the transcript has lost are written into it again, whichever are missing', async () => {
    const { session, store, adapter, server } = await world({ main: twoTurns });
    await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    await claudeSessionStore(store).delete({ projectKey: '', sessionId: stateIn(session).sessionId });
    expect(await adapter().evaluate(prompt, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done 2',
    });
    expect(server.requests.at(-1)?.results.get('toolu_a')).toEqual({ text: 'echo a', isError: false });
    expect(server.requests.at(-1)?.results.get('toolu_b')).toEqual({ text: 'echo b', isError: false });
    expect(server.refusals).toEqual([]);
    expect(ran).toEqual(['a', 'b']);
  });

  test('a store that fails to mirror loses nothing: the resume uses our log', async () => {
    const { session, store, adapter, server } = await world({ main: twoTurns });
    const { append } = store;
    let mirrored = 0;
    store.append = (id, events, options) =>
      id.startsWith('claude:') && mirrored++ > 0
        ? Promise.reject(new Error('full'))
        : append.call(store, id, events, options);
    await adapter().evaluate(prompt, { session, input: INPUT, maxTurns: 1 });
    store.append = append;
    expect(await adapter().evaluate(prompt, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done 2',
    });
    expect(server.requests.at(-1)?.results.get('toolu_b')).toEqual({ text: 'echo b', isError: false });
    expect(ran).toEqual(['a', 'b']);
  });

  test('D18: a person may permit a rerun of a built-in call: the model is prompted to make it again', async () => {
    const { session, adapter, server } = await world({
      main: ({ turn }) =>
        turn === 1
          ? { toolCalls: [call('Bash', { command: 'tail -f /dev/null', description: 'x' }, 'toolu_bash')] }
          : 'done',
    });
    const controller = new AbortController();
    const running = adapter().evaluate(prompt, {
      session,
      input: INPUT,
      signal: controller.signal,
      onEvent: (event) => {
        if (event.type === 'tool/started') controller.abort();
      },
    });
    expect(await running).toMatchObject({ status: 'suspended', reason: 'CANCELLED' });
    const unknown = await adapter().evaluate(prompt, { session, resume: true });
    expect(unknown).toMatchObject({
      status: 'suspended',
      reason: 'TOOL_OUTCOME_UNKNOWN',
      pending: [{ callId: 'toolu_bash' }],
    });
    for (const pending of unknown.pending) await session.settle(pending, { rerun: true });
    expect(await adapter().evaluate(prompt, { session, resume: true })).toMatchObject({
      status: 'completed',
      text: 'done',
    });
    expect(server.requests.at(-1)?.results.get('toolu_bash')).toMatchObject({
      text: expect.stringContaining('Call the tool again'),
      isError: true,
    });
  });

  test('D51: two resumes of one session exclude each other', async () => {
    const { session, store, adapter, server } = await world({
      main: () => ({ said: 'done', hold: { name: 'busy', at: 0 } }),
    });
    const controller = new AbortController();
    const running = adapter().evaluate(prompt, { session, input: INPUT, signal: controller.signal });
    await server.held('busy');
    const second = await openSession({ store, id: session.id });
    await expect(adapter().evaluate(prompt, { session: second, resume: true })).rejects.toMatchObject({
      code: 'SESSION_BUSY',
    });
    controller.abort();
    await running;
    expect(await adapter().evaluate(prompt, { session: second, resume: true })).toMatchObject({ status: 'completed' });
  });

  test.for(['main', 'agent', 'resumed'])(
    'D47: the state built live equals the state of the transcript (%s)',
    async (kind) => {
      const { session, store, adapter } = await world({
        main: ({ turn }) =>
          turn === 1
            ? {
                reasoning: 'hm',
                text: 'I will.',
                toolCalls: [echoCall('a'), call('Bash', { command: 'echo hi', description: 'x' }, 'toolu_bash')],
              }
            : 'done',
        agent: ({ turn }) =>
          turn === 1
            ? {
                toolCalls: [
                  call(
                    'Agent',
                    {
                      description: 'sub',
                      prompt: '[[script:sub]] go',
                      subagent_type: 'general-purpose',
                      run_in_background: false,
                    },
                    'toolu_agent',
                  ),
                ],
              }
            : 'done',
        sub: ({ turn }) => (turn === 1 ? { text: 'sub', toolCalls: [echoCall('s'), echoCall('t')] } : 'sub done'),
      });
      const streamed: ClaudeMessage[] = [];
      const mine = adapter({ onMessage: (message) => streamed.push(message), fork: false });
      const input = `[[script:${kind === 'agent' ? 'agent' : 'main'}]] go`;
      if (kind === 'resumed') await mine.evaluate(prompt, { session, input, maxTurns: 1 });
      await mine.evaluate(prompt, { session, input, resume: kind === 'resumed' });

      const converter = claudeStreamConverter({ now: () => '2030-01-01T00:00:00.000Z' });
      const live = withoutExemptLines(streamed as readonly Line[], EXEMPTIONS).flatMap((message) =>
        converter.push(message),
      );
      const state = stateOf([...live, ...converter.end()]);

      const { main, subagents } = await readClaudeSession(store, stateIn(session).sessionId);
      const filter = (text: unknown): string => textOfLines(withoutExemptLines(linesOf(String(text)), EXEMPTIONS));
      const raw = {
        main: filter(main),
        subagents: subagents.map((one) => ({ ...one, transcript: filter(one.transcript) })),
      };
      const parsed = parseTranscript('claude-sdk', raw).state;
      expect(comparable(plain(state), EXEMPTIONS)).toBe(comparable(plain(parsed), EXEMPTIONS));
      expect(plain(state).blocks.length).toBeGreaterThan(1);
      expect(plain(state).subagents).toHaveLength(kind === 'agent' ? 1 : 0);
    },
  );
});
