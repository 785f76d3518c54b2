/** Long results of Claude Code, whose unused fields are not parsed. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseSkimmed, RESULT_START, skimResult } from '../../src/transcripts/claude/skim-line.ts';
import { parseTranscript } from '../../src/transcripts/parse-transcript.ts';
import { folder, stateOfReading, write } from '../importers/places.ts';
import { asks, call, returns, says } from './claude-builders.ts';
import { parse } from './claude-lines.ts';
import { type Line, plain, textOfLines } from './fixtures.ts';

const LONG = 'x'.repeat(2000);

/** What `skimResult` leaves of a result; `undefined` when the whole line has to be read. */
function skim(toolUseResult: unknown, more: Line = {}): Line | undefined {
  const line = JSON.stringify({ type: 'user', message: { role: 'user' }, toolUseResult, ...more });
  const start = line.indexOf(RESULT_START);
  const rest = start < 0 ? undefined : skimResult(line.slice(start));
  return rest === undefined ? undefined : (parseSkimmed(line.slice(0, start) + rest) as Line | undefined);
}

const lines = (toolUseResult: unknown, name = 'Bash'): Line[] => [
  asks('p', 'Go'),
  says('a', 'm', call('c', name, { prompt: 'Look' })),
  returns('r', 'c', 'out', { toolUseResult }),
];

describe('a long result', () => {
  test.for([
    ['quotes and backslashes', { stdout: `${LONG}\\"\\\\"{[`, status: 'a"b\\' }, { status: 'a"b\\' }],
    [
      'nested values',
      { file: { lines: [[LONG, { a: null }], -1.5e9, true] }, task: { task_id: 't' } },
      { task: { task_id: 't' } },
    ],
    [
      'a field after the long one',
      { stdout: LONG, agentId: 'a1', totalDurationMs: 5 },
      { agentId: 'a1', totalDurationMs: 5 },
    ],
    ['the text of a file', { type: 'create', content: LONG }, {}],
    [
      'the parts of a result',
      { stdout: LONG, content: [{ type: 'text', text: 'ü' }] },
      { content: [{ type: 'text', text: 'ü' }] },
    ],
  ] as const)('is read without its unused fields: %s', ([, result, read]) => {
    const skimmed = skim(result, { uuid: 'u' });
    expect(skimmed).toMatchObject({ type: 'user', uuid: 'u' });
    const { '(skimmed)': mark, ...fields } = (skimmed as Line).toolUseResult as Line;
    expect(mark).toBe(0);
    expect(fields).toEqual(read);
  });

  test('shows the same as the result with only the fields that are read', () => {
    const field = fc.constantFrom(
      'agentId',
      'content',
      'status',
      'isAsync',
      'task',
      'totalDurationMs',
      'stdout',
      'file',
      '"',
    );
    fc.assert(
      fc.property(fc.dictionary(field, fc.jsonValue()), fc.constantFrom('Bash', 'Task'), (result, name) => {
        const { stdout: _, file: __, '"': ___, ...read } = result as Line;
        expect(parse(lines({ ...result, stdout: LONG }, name)).blocks.map(withoutTime)).toEqual(
          parse(lines(read, name)).blocks.map(withoutTime),
        );
      }),
      { numRuns: 200 },
    );
  });

  test('in the input of a call is kept as it is', () => {
    const input = { a: 1, toolUseResult: { stdout: LONG, more: LONG } };
    expect(parse([says('a', 'm', call('c', 'Bash', input))]).blocks).toMatchObject([{ input }]);
    expect(skim({ stdout: LONG, toolUseResult: { stdout: LONG } }, { x: { toolUseResult: {} } })).toBeDefined();
  });

  test('in a line without a message is kept as it is', () => {
    const line = { type: 'user', uuid: 'u', timestamp: '2026-01-01T00:00:00.000Z', toolUseResult: { stdout: LONG } };
    expect(parse([line]).blocks).toMatchObject([{ type: 'unknown', data: line }]);
  });

  test.for([
    ['torn', (line: string) => `${line.slice(0, -900)}\n`, ['malformed-line']],
    ['glued to another line', (line: string) => `${line}${JSON.stringify(asks('q', 'More'))}\n`, ['glued-line']],
    [
      'with a NUL byte outside of texts',
      (line: string) => `${line.replace('"toolUseResult":', '"toolUseResult":\0')}\n`,
      ['nul-bytes'],
    ],
  ] as const)('in a line that is %s is reported', ([, damage, codes]) => {
    const [prompt, calling, result] = lines({ stdout: LONG }) as [Line, Line, Line];
    const raw = textOfLines([prompt, calling]) + damage(JSON.stringify(result)) + textOfLines([asks('z', 'Last')]);
    expect(parse(raw).diagnostics.problems.map(({ code }) => code)).toEqual(codes);
    expect(parse(raw).blocks.at(-1)).toMatchObject({ content: 'Last' });
  });

  test('is read from a file as from a text', async () => {
    const raw = textOfLines([
      ...lines({ stdout: `→ü${LONG}`, agentId: 'é' }),
      returns('r2', 'c2', `→${LONG}`, { toolUseResult: { x: { toolUseResult: { a: LONG } }, status: '…' } }),
      asks('z', '…'),
    ]);
    const root = write(folder(), { 's.jsonl': raw });
    expect(plain(await stateOfReading(`${root}/s.jsonl`))).toEqual(plain(parseTranscript('claude-sdk', raw).state));
  });
});

const withoutTime = (block: object): object => ({ ...block, timestamp: undefined });
