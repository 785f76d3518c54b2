/** Damages real lines in every way that files and hostile authors do; the same for the same seed. */
import type { Random } from '../support/random.ts';
import { asks, at, call, returns, says } from './claude-builders.ts';
import {
  claudeSession,
  claudeStream,
  fixture,
  type Line,
  linesOf,
  openCodeSession,
  openCodeStream,
} from './fixtures.ts';

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

/** Short lines, so that many thousands of inputs can be made of them. */
const short = (lines: readonly Line[]): Line[] => lines.filter((line) => JSON.stringify(line).length < 1500);
const folders = ['thinking', 'tools', 'parallel', 'nested', 'subbg', 'resume-killmcp'];

/** Lines as people have them: queued texts, rewinds, collected tasks, attachments. */
const WILD: readonly Line[] = [
  asks('w1', 'First', { parentUuid: null }),
  says('w2', 'mw2', call('cw'), { parentUuid: 'w1' }),
  { type: 'queue-operation', operation: 'enqueue', content: 'And this', sessionId: 's', timestamp: at() },
  returns('w3', 'cw', '', { parentUuid: 'w2' }),
  { type: 'queue-operation', operation: 'remove', sessionId: 's', timestamp: at() },
  says('w4', 'mw4', { type: 'thinking', thinking: '', signature: 'x' }, { parentUuid: 'w3' }),
  says('w5', 'mw4', call('tw', 'Task', { prompt: 'Work' }), { parentUuid: 'w4' }),
  returns('w6', 'tw', 'launched', { parentUuid: 'w5', toolUseResult: { isAsync: true, agentId: 'x' } }),
  says('w7', 'mw7', call('ow', 'TaskOutput', { task_id: 'x' }), { parentUuid: 'w6' }),
  returns('w8', 'ow', [], {
    parentUuid: 'w7',
    toolUseResult: { task: { task_id: 'x', status: 'completed', output: 'Ok' } },
  }),
  {
    type: 'system',
    subtype: 'compact_boundary',
    uuid: 'w9',
    logicalParentUuid: 'w8',
    parentUuid: null,
    timestamp: at(),
  },
  asks('w10', 'In short', { parentUuid: 'w9', isCompactSummary: true }),
  asks('w11', 'Again', { parentUuid: 'w1' }),
  asks('w12', 'From the start', { parentUuid: null }),
  asks('w13', '<teammate-message teammate_id="a">Hi</teammate-message>', { parentUuid: 'w12' }),
  {
    type: 'attachment',
    uuid: 'w14',
    parentUuid: 'w13',
    timestamp: at(),
    attachment: { type: 'file', filename: 'a', content: 'x' },
  },
];

export const CLAUDE_LINES: readonly Line[] = short([
  ...WILD,
  ...WILD.toReversed(),
  ...linesOf(fixture('claude-code-2.1.38/short.jsonl')),
  ...linesOf(fixture('claude-code-2.1.38/tool_heavy.jsonl')),
  ...folders.flatMap((folder) => {
    const { main, subagents } = claudeSession(folder);
    return [main, ...subagents.map(({ transcript }) => transcript as string)].flatMap(linesOf);
  }),
  ...linesOf(claudeSession('long-6').main).filter((line) => line.type === 'system' || line.isCompactSummary === true),
]);
export const CLAUDE_STREAM: readonly Line[] = short(folders.flatMap(claudeStream));
export const OPENCODE_STREAM: readonly Line[] = short(
  ['serve-tools', 'serve-nested', 'serve-resume-kill'].flatMap((folder) => openCodeStream(folder)),
).filter(({ type }) => type !== 'plugin.added');
export const OPENCODE_MESSAGES: readonly Line[] = ['serve-tools', 'serve-nested', 'serve-resume-kill'].flatMap(
  (folder) => {
    const { main, subagents } = openCodeSession(folder);
    return [main, ...subagents.map(({ transcript }) => transcript)].flatMap(
      (text) => (JSON.parse(text as string) as { messages: Line[] }).messages,
    );
  },
);

const HOSTILE_KEYS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'type', 'id', '0', 'length'];
const HOSTILE_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  '',
  'main',
  'agent-main',
  '__proto__',
  '<script>alert(1)</script>',
  '<task-notification><result></result>',
  '\u0000\uD800\u202E',
  [],
  {},
  [[[[]]]],
  { type: 'text' },
  { __proto__: null, type: 'tool_use' },
  'user',
  'assistant',
  'tool_result',
  1794770950804,
];

/** Picks lines of a pool, in their order or in any, sometimes one twice. */
export function someLines(random: Random, pool: readonly Line[], most: number): Line[] {
  const count = 1 + Math.floor(random() * most);
  const start = Math.floor(random() * pool.length);
  const lines =
    random() < 0.6 ? pool.slice(start, start + count) : Array.from({ length: count }, () => pick(random, pool));
  if (random() < 0.3) lines.splice(Math.floor(random() * lines.length), 0, pick(random, lines));
  return lines;
}

/** Lines in their order, shuffled, with some twice, without some, or cut off. */
export function damageOrder(random: Random, lines: readonly Line[]): readonly Line[] {
  const how = random();
  if (how < 0.5) return lines;
  if (how < 0.65)
    return lines
      .map((line) => ({ line, key: random() }))
      .sort((a, b) => a.key - b.key)
      .map(({ line }) => line);
  if (how < 0.8) return lines.flatMap((line) => (random() < 0.3 ? [line, line] : [line]));
  if (how < 0.9) return lines.filter(() => random() < 0.7);
  return lines.slice(0, Math.floor(random() * lines.length));
}

/** Replaces, removes, renames or nests something in a value. */
export function mutateValue(random: Random, value: unknown): unknown {
  if (Array.isArray(value)) {
    const index = Math.floor(random() * value.length);
    if (value.length === 0 || random() < 0.2) return [...value, pick(random, HOSTILE_VALUES)];
    return value.map((item, i) => (i === index ? mutateValue(random, item) : item));
  }
  if (typeof value !== 'object' || value === null || random() < 0.15) {
    return random() < 0.05 ? nested(20 + Math.floor(random() * 400)) : pick(random, HOSTILE_VALUES);
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return pick(random, HOSTILE_VALUES);
  const index = Math.floor(random() * entries.length);
  const [key, inner] = entries[index] as [string, unknown];
  const how = random();
  if (how < 0.1) entries.splice(index, 1);
  else if (how < 0.2) entries[index] = [pick(random, HOSTILE_KEYS), inner];
  else entries[index] = [key, mutateValue(random, inner)];
  return Object.fromEntries(entries);
}

/** Flips, cuts, doubles or inserts bytes of a text. */
export function mutateText(random: Random, text: string): string {
  const at = Math.floor(random() * text.length);
  const how = random();
  if (how < 0.3) {
    const bytes = Buffer.from(text);
    for (let flips = 1 + Math.floor(random() * 8); flips > 0; flips--) {
      const place = Math.floor(random() * bytes.length);
      bytes[place] = (bytes[place] ?? 0) ^ (1 << Math.floor(random() * 8));
    }
    return bytes.toString('utf8');
  }
  if (how < 0.45) return text.slice(0, at);
  if (how < 0.6) return text.slice(0, at) + text.slice(at + Math.floor(random() * 200));
  if (how < 0.7) return `${text}${text.slice(at)}`;
  if (how < 0.8) return `${text.slice(0, at)}${'\0'.repeat(1 + Math.floor(random() * 50))}${text.slice(at)}`;
  if (how < 0.9)
    return `${text.slice(0, at)}${pick(random, ['{', '}', '[', '"', '\\', '\n', '{"main":', ',', ':'])}${text.slice(at)}`;
  if (how < 0.97) return text.split('\n').reverse().join('\n');
  return `${text.slice(0, at)}${'x'.repeat(20_000)}${text.slice(at)}`;
}

function nested(depth: number): unknown {
  let value: unknown = 'deep';
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { a: value };
  return value;
}
