/** What stands beside the rollouts in Codex's home, and what their first lines say. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { memoryStore } from '../../src/index.ts';
import { codexFormat } from '../../src/transcripts/codex/codex-format.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { findTranscripts, importTranscripts, loadTranscript } from '../../src/transcripts.ts';
import { MAIN_THREAD, RolloutBuilder, threadId } from '../transcripts/codex-fixtures.ts';
import { type Line, plain } from '../transcripts/fixtures.ts';
import { folder, write } from './places.ts';

const nameOf = (thread: string): string => `sessions/2026/11/16/rollout-2026-11-16T10-00-00-${thread}.jsonl`;

/** A home with one rollout for each thread. */
function home(threads: Readonly<Record<string, RolloutBuilder>>): string {
  return write(
    folder(),
    Object.fromEntries(Object.entries(threads).map(([thread, builder]) => [nameOf(thread), builder.text])),
  );
}

describe('files beside the rollouts', () => {
  test('the databases that Codex derives from rollouts are no sessions, and nothing is missing without them', async () => {
    const root = home({ [MAIN_THREAD]: new RolloutBuilder().prompt('Go').says('Done') });
    const without = await findTranscripts(root);
    for (const [name, tables] of [
      ['state_5.sqlite', ['threads', 'thread_spawn_edges']],
      ['thread_history_1.sqlite', ['turns', 'items']],
    ] as const) {
      const database = new DatabaseSync(join(root, name));
      for (const table of tables) {
        database.exec(
          `CREATE TABLE ${table} (id TEXT, title TEXT); INSERT INTO ${table} VALUES ('${threadId(9)}', 'Not read')`,
        );
      }
      database.close();
    }
    expect(without).toMatchObject([{ sessionId: MAIN_THREAD, title: 'Go', messages: 2 }]);
    expect(await findTranscripts(root)).toEqual(without);
    expect(await importTranscripts(memoryStore(), { paths: [root] })).toMatchObject({ sessions: 1, problems: [] });
  });

  test('the history of prompts and the index of names are no sessions', async () => {
    const root = write(home({ [MAIN_THREAD]: new RolloutBuilder().prompt('Go') }), {
      'history.jsonl': `{"session_id":"${threadId(8)}","ts":1794825889,"text":"Typed in the terminal"}\n`,
      'session_index.jsonl': `{"id":"${threadId(8)}","thread_name":"Of another","updated_at":"2026-11-16T10:00:00Z"}\n`,
    });
    expect(await findTranscripts(root)).toMatchObject([{ sessionId: MAIN_THREAD, title: 'Go' }]);
    expect(await importTranscripts(memoryStore(), { paths: [root] })).toMatchObject({ sessions: 1, problems: [] });
  });
});

describe('the first line of a rollout', () => {
  test.for([
    ['codex_exec', 'exec'],
    ['codex-tui', 'cli'],
    ['another program', undefined],
  ] as const)('a session that %s started is listed', async ([originator, source]) => {
    const meta: Line = { originator, ...(source !== undefined && { source }), session_id: MAIN_THREAD };
    const root = home({ [MAIN_THREAD]: new RolloutBuilder(meta).prompt('Go') });
    expect(await findTranscripts(root)).toMatchObject([{ sessionId: MAIN_THREAD, cwd: '/home/dev', subagents: 0 }]);
  });

  test.for([
    ['parent_thread_id', { parent_thread_id: MAIN_THREAD }],
    ['source', { source: { subagent: { thread_spawn: { parent_thread_id: MAIN_THREAD, depth: 1 } } } }],
  ] as const)(
    'a thread with %s is a subagent, though it names the session of its root as its own',
    async ([, fields]) => {
      const child = threadId(2);
      const main = new RolloutBuilder({ session_id: MAIN_THREAD })
        .prompt('Go')
        .calls('c1', 'spawn_agent', { message: 'Work' })
        .returns('c1', `{"agent_id":"${child}"}`);
      const work = new RolloutBuilder({ id: child, session_id: MAIN_THREAD, ...fields }, { second: 10 }).says(
        'Working',
      );
      const root = home({ [MAIN_THREAD]: main, [child]: work });
      expect(await findTranscripts(root)).toMatchObject([{ sessionId: MAIN_THREAD, title: 'Go', subagents: 1 }]);
      const { raw } = await loadTranscript(root, { sessionId: MAIN_THREAD });
      const { blocks, subagents } = plain(parseTranscript('codex', raw).state);
      expect(blocks.map(({ type }) => type)).toEqual(['user_message', 'subagent']);
      expect(subagents).toMatchObject([{ agentId: child, blocks: [{ content: 'Working' }] }]);
    },
  );

  test('names the directory, the version, the session and the branch of what is exported', () => {
    const meta = { cli_version: '0.166.0', model_provider: 'openai', base_instructions: {}, git: { branch: 'main' } };
    expect(codexFormat.readFacts(new RolloutBuilder(meta).text)).toEqual({
      project: '/home/dev',
      version: '0.166.0',
      session: MAIN_THREAD,
      branch: 'main',
    });
  });
});
