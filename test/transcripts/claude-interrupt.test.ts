/** How the stream of a run ends that the user interrupted. */
import { expect, test } from 'vitest';
import { claudeStreamConverter } from '../../src/transcripts/claude/stream-converter.ts';
import { asks, at, call, DONE, INIT, says, text } from './claude-builders.ts';
import { plain, stateOf } from './fixtures.ts';

test.for([
  ['a line of the user', [{ errors: ['[ede_diagnostic] result_type=user'] }], true],
  ['a line of the user, and an error', [{ errors: ['Error: something broke while it stopped'] }], true],
  ['the diagnostic alone', [{ errors: ['[ede_diagnostic] result_type=user', 'Error: Request was aborted.'] }], false],
  ['the diagnostic as the result', [{ result: '[ede_diagnostic] result_type=user' }], false],
] as const)('a run that the user interrupted shows no error: %s', ([, [fields], hasLine]) => {
  const converter = claudeStreamConverter({ now: at });
  const line = asks('i', [text('[Request interrupted by user]')]);
  const result = { ...DONE, subtype: 'error_during_execution', is_error: true, ...fields };
  const messages = [INIT, says('a', 'm', call('c')), ...(hasLine ? [line] : []), result];
  const state = plain(
    stateOf(
      messages.flatMap((message) => converter.push(message)),
      converter.end(),
    ),
  );
  expect(state.blocks.map(({ type, status, subtype }) => [type, status, subtype])).toEqual([
    ['tool_use', 'error', undefined],
    ...(hasLine ? [['system', 'complete', 'interrupted']] : []),
  ]);
  expect(converter.diagnostics).toMatchObject({ unknown: {}, problems: [] });
});

test('an error without a text is shown by its kind', () => {
  const converter = claudeStreamConverter({ now: at });
  const events = converter.push({ ...DONE, subtype: 'error_max_turns', is_error: true });
  expect(plain(stateOf(events)).blocks).toMatchObject([{ type: 'error', content: 'error_max_turns' }]);
});
