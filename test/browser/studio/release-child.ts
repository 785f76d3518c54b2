/**
 * `release-child.ts <database>`: works on the session `release` until it is done. An agent prepares a release: it reads files, runs tests beside
 * a type check, has a subagent find something out, and publishes after an approval. Killed and started again it continues. It prints `parallel`
 * when the tests have passed and the type check still runs, and waits there the first time. It ends with its parent.
 */
import { z } from 'zod';
import { createAdapter, definePrompt } from '../../../src/evaluate.ts';
import { compose, estimateTokens, slidingWindow, summarize, truncateToolResults } from '../../../src/history.ts';
import {
  type ConversationMessage,
  defineSubagent,
  defineTool,
  type ModelRequest,
  openSession,
  type ScriptedTurn,
  scriptedModel,
  type Tool,
} from '../../../src/index.ts';
import { sqliteStore } from '../../../src/sqlite.ts';

const FILES = [
  'README.md',
  'src/tides.ts',
  'src/lock.ts',
  'src/harbor.ts',
  'src/pilot.ts',
  'CHANGELOG.md',
  'src/berth.ts',
];
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

process.stdin.on('end', () => process.exit(1)).resume(); // its parent's end of the pipe is closed, by its death at the latest
process.stdin.unref();

const store = await sqliteStore(process.argv[2] ?? '');
const session = await openSession({ store, id: 'release' });
const isSecondRun = session.seq > 0;

const read = defineTool({
  name: 'read_file',
  description: 'Reads a file',
  input: z.object({ path: z.string() }),
  effect: 'read',
  execute: async ({ path }) => {
    await pause(40 + path.length * 4);
    return Array.from(
      { length: 60 },
      (_, i) => `${i + 1}  ${path}: export const tide${i} = high(${i * 7}); // metres above datum`,
    ).join('\n');
  },
});
const test = defineTool({
  name: 'run_tests',
  description: 'Runs the tests',
  input: z.object({ folder: z.string() }),
  effect: 'idempotent',
  execute: async ({ folder }) => {
    await pause(180);
    return `${folder}: 42 passed`;
  },
});
const check = defineTool({
  name: 'check_types',
  description: 'Checks the types',
  input: z.object({}),
  effect: 'idempotent',
  execute: async () => {
    if (!isSecondRun) {
      await recorded('run_tests');
      console.log('parallel');
      await new Promise(() => setInterval(() => {}, 1000)); // until the process is killed
    }
    await pause(320);
    return 'no errors';
  },
});
const publish = defineTool({
  name: 'publish',
  description: 'Publishes a version',
  input: z.object({ version: z.string() }),
  effect: 'once',
  needsApproval: true,
  execute: async ({ version }) => {
    await pause(150);
    return `published harbor@${version}`;
  },
});
const historian = defineSubagent({
  name: 'historian',
  description: 'Finds out what changed',
  prompt: definePrompt({ ns: 'studio', key: 'historian', instructions: 'Find out what changed.', tools: [read, test] }),
});
const prompt = definePrompt({
  ns: 'studio',
  key: 'release',
  instructions:
    'Prepare releases of the harbor package. Read before you write, and publish only what passes its tests.',
  tools: [read, test, check, publish, historian] as readonly Tool[],
});

/** Resolves when the log has a result of the tool. */
function recorded(name: string): Promise<void> {
  return new Promise((resolve) => {
    session.subscribe((event) => {
      if (event.type === 'message/recorded' && event.message.role === 'tool' && event.message.toolName === name)
        resolve();
    });
  });
}

const PREPARE: readonly ScriptedTurn[] = [
  { text: 'I read the package first.', toolCalls: FILES.slice(0, 3).map(reading) },
  {
    text: 'Now the tests and the types, at the same time.',
    toolCalls: [
      { name: 'run_tests', arguments: { folder: 'test' } },
      { name: 'check_types', arguments: {} },
    ],
  },
  ...FILES.slice(3).map((path): ScriptedTurn => ({ text: `Next is ${path}.`, toolCalls: [reading(path)] })),
  {
    text: 'Someone should look at what changed.',
    toolCalls: [{ name: 'historian', arguments: { input: 'What changed since 1.4.0?' } }],
  },
  { text: 'Everything is ready.', toolCalls: [{ name: 'publish', arguments: { version: '1.5.0' } }] },
  'harbor 1.5.0 is published.',
];
const EXPLAIN: readonly ScriptedTurn[] = [
  ...[...FILES, 'package.json', 'src/index.ts', 'test/lock.test.ts'].map(
    (path): ScriptedTurn => ({ text: `I look at ${path} again.`, toolCalls: [reading(path)] }),
  ),
  'The release adds berths, and locks can be taken again after they were released.',
];
const LOOK_BACK: readonly ScriptedTurn[] = [
  { toolCalls: [reading('CHANGELOG.md'), { name: 'run_tests', arguments: { folder: 'test/history' } }] },
  'Berths are new; the lock is fixed.',
];

function reading(path: string): { readonly name: string; readonly arguments: unknown } {
  return { name: 'read_file', arguments: { path } };
}

function tokensOf(messages: readonly ConversationMessage[]): number {
  return messages.reduce((sum, { content }) => sum + estimateTokens(JSON.stringify(content)), 0);
}

/** A provider that caches the beginning of each request for the next one. */
let cached: readonly ConversationMessage[] = [];
function spent({ messages, prompt: { key } }: ModelRequest): {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
} {
  const inputTokens = tokensOf(messages);
  if (key !== 'release') return { inputTokens, outputTokens: 30, cachedInputTokens: 0 };
  const end = messages.findIndex(
    (message, i) => JSON.stringify(message.content) !== JSON.stringify(cached[i]?.content),
  );
  const shared = tokensOf(messages.slice(0, end < 0 ? messages.length : end));
  cached = messages;
  return { inputTokens, outputTokens: 40, cachedInputTokens: shared < 200 ? 0 : shared };
}

const model = scriptedModel(
  (request) => {
    const { prompt: asked, turn, messages, tools = [] } = request;
    const usage = spent(request);
    if (tools.length === 0) return { text: 'The agent read the package, ran its tests and published 1.5.0.', usage };
    const script = asked.key === 'historian' ? LOOK_BACK : messages.some(isExplain) ? EXPLAIN : PREPARE;
    const said = script[turn - 1] ?? 'Done.';
    return { ...(typeof said === 'string' ? { text: said } : said), usage };
  },
  { modelId: 'scripted-1', beforePart: () => pause(12) },
);
function isExplain({ role, content }: ConversationMessage): boolean {
  return role === 'user' && JSON.stringify(content).includes('Explain');
}

const adapter = createAdapter({ model, prices: { 'scripted-1': { input: 3, output: 15, cacheRead: 0.3 } } });
const shorten = truncateToolResults({ maxLength: 600 });
await session.describe({ title: 'Release harbor 1.5.0', metadata: { cwd: '/home/ada/harbor' } });
const prepare = {
  session,
  input: 'Prepare and publish harbor 1.5.0.',
  history: compose(shorten, slidingWindow({ size: 6, low: 3 })),
};
await adapter.evaluate(prompt, { ...prepare, resume: 'auto' });
await pause(120);
for (const call of session.pending()) await session.approve(call, { by: 'ada' });
await adapter.evaluate(prompt, { ...prepare, resume: 'auto' });
await adapter.evaluate(prompt, {
  session,
  input: 'Explain what is in it.',
  history: compose(shorten, summarize({ size: 7, low: 3 })),
});
await session.close();
await store.close();
