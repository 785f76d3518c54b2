import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Body } from '../support/provider-server/server-turn.ts';
import { serve } from './providers.ts';

/** The local provider rejects what the real ones reject: otherwise tests with it would prove nothing. */

type Api =
  | 'openai/v1/chat/completions'
  | 'openai/v1/responses'
  | 'anthropic/v1/messages'
  | 'compatible/v1/chat/completions';

async function post(api: Api, body: object): Promise<{ status: number; message: string; text: string }> {
  const server = await serve(() => 'ok');
  const response = await fetch(`${server.url}/${api}`, {
    method: 'POST',
    headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const message = response.status === 200 ? '' : (JSON.parse(text) as { error: { message: string } }).error.message;
  return { status: response.status, message, text };
}

const user = { role: 'user', content: 'Go' };

describe('chat completions', () => {
  const call = (id: string, args: unknown = '{}') => ({
    id,
    type: 'function',
    function: { name: 'read', arguments: args },
  });
  const calls = (...list: readonly object[]) => ({ role: 'assistant', content: null, tool_calls: list });
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' });
  const chat = (...messages: readonly object[]) => ({ model: 'm', stream: true, messages });

  test.for<[string, Body]>([
    ['text', chat(user)],
    ['calls and their results in any order', chat(user, calls(call('a'), call('b')), result('b'), result('a'), user)],
    ['system and developer', chat({ role: 'system', content: 'x' }, { role: 'developer', content: 'y' }, user)],
  ])('accepts %s', async ([, body]) => {
    const { status, text } = await post('openai/v1/chat/completions', body);
    expect(status).toBe(200);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  test.for<[string, Body, RegExp]>([
    ['no messages', chat(), /empty array/],
    [
      'a call without its result',
      chat(user, calls(call('a'), call('b')), result('a')),
      /must be followed by tool messages.*: b$/,
    ],
    [
      'a message between call and result',
      chat(user, calls(call('a')), user, result('a')),
      /must be followed by tool messages/,
    ],
    ['a result without its call', chat(user, result('a')), /must be a response to a preceeding message/],
    ['a result twice', chat(user, calls(call('a')), result('a'), result('a')), /must be a response/],
    ['an empty list of calls', chat(user, { role: 'assistant', content: 'x', tool_calls: [] }), /too short/],
    ['neither content nor calls', chat(user, { role: 'assistant', content: null }), /got null/],
    ['an empty id', chat(user, calls(call('')), result('')), /empty string/],
    ['an id of 41 characters', chat(user, calls(call('x'.repeat(41))), result('x'.repeat(41))), /maximum length 40/],
    ['an id twice', chat(user, calls(call('a')), result('a'), calls(call('a')), result('a')), /Duplicate/],
    ['arguments that are no JSON', chat(user, calls(call('a', '{"x"')), result('a')), /not a JSON object/],
    [
      'a name with a space',
      chat(user, calls({ ...call('a'), function: { name: 'a b', arguments: '{}' } }), result('a')),
      /pattern/,
    ],
    ['reasoning', chat(user, { role: 'assistant', content: 'x', reasoning_content: 'hm' }), /Unknown parameter/],
    ['an unknown role', chat({ role: 'function', content: 'x' }), /Invalid value/],
    ['an empty list of parts', chat({ role: 'user', content: [] }), /Invalid value/],
    [
      'an image that is none',
      chat({ role: 'user', content: [{ type: 'image_url', image_url: { url: 'AAAA' } }] }),
      /image_url/,
    ],
    ['an empty list of tools', { ...chat(user), tools: [] }, /too short/],
    ['a choice without tools', { ...chat(user), tool_choice: 'auto' }, /only allowed when/],
    ['half a character', chat({ role: 'user', content: '\ud800' }), /surrogate/],
    [
      'an open schema in strict mode',
      {
        ...chat(user),
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'x', strict: true, schema: { type: 'object', properties: {} } },
        },
      },
      /additionalProperties/,
    ],
  ])('rejects %s', async ([, body, message]) => {
    const refused = await post('openai/v1/chat/completions', body);
    expect(refused.status).toBe(400);
    expect(refused.message).toMatch(message);
  });

  test('a compatible server accepts reasoning', async () => {
    const body = chat(user, { role: 'assistant', content: 'x', reasoning_content: 'hm' }, user);
    expect((await post('compatible/v1/chat/completions', body)).status).toBe(200);
  });
});

describe('the Responses API', () => {
  const call = (call_id: string) => ({ type: 'function_call', call_id, name: 'read', arguments: '{}' });
  const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'ok' });
  const respond = (...input: readonly object[]) => ({ model: 'm', stream: true, store: false, input });

  test('accepts calls with their outputs', async () => {
    const { status, text } = await post(
      'openai/v1/responses',
      respond(user, call('a'), call('b'), output('b'), output('a')),
    );
    expect(status).toBe(200);
    expect(text).toContain('response.completed');
  });

  test.for<[string, Body, RegExp]>([
    ['a call without its output', respond(user, call('a')), /No tool output found for function call a/],
    ['an output without its call', respond(user, output('a')), /No tool call found/],
    ['an output before its call', respond(user, output('a'), call('a')), /No tool call found/],
    ['a call id twice', respond(user, call('a'), output('a'), call('a'), output('a')), /Duplicate/],
    ['a call id of 65 characters', respond(user, call('x'.repeat(65)), output('x'.repeat(65))), /1 to 64/],
    [
      'reasoning that it did not encrypt',
      respond(
        user,
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'abc' },
        { role: 'assistant', content: 'x' },
      ),
      /could not be verified/,
    ],
    ['a reference to what it did not keep', respond(user, { type: 'item_reference', id: 'rs_1' }), /not found/],
    [
      'parts of the wrong side',
      respond({ role: 'user', content: [{ type: 'output_text', text: 'x' }] }),
      /Invalid value/,
    ],
    ['an unknown item', respond({ type: 'thought' }), /Invalid value/],
  ])('rejects %s', async ([, body, message]) => {
    const refused = await post('openai/v1/responses', body);
    expect(refused.status).toBe(400);
    expect(refused.message).toMatch(message);
  });
});

describe('the Messages API', () => {
  const use = (id: string, more: object = {}) => ({ type: 'tool_use', id, name: 'read', input: {}, ...more });
  const result = (id: string, more: object = {}) => ({ type: 'tool_result', tool_use_id: id, content: 'ok', ...more });
  const text = (said: string) => ({ type: 'text', text: said });
  const says = (...content: readonly object[]) => ({ role: 'assistant', content });
  const asks = (...content: readonly object[]) => ({ role: 'user', content });
  const tools = [{ name: 'read', input_schema: { type: 'object' } }];
  const ask = (...messages: readonly object[]) => ({ model: 'm', max_tokens: 9, stream: true, messages, tools });

  test('accepts calls with their results, and text after the results', async () => {
    const { status, text: events } = await post(
      'anthropic/v1/messages',
      ask(user, says(text('x'), use('a'), use('b')), asks(result('b'), result('a'), text('And?'))),
    );
    expect(status).toBe(200);
    expect(events).toContain('event: message_stop');
  });

  test.for<[string, Body, RegExp]>([
    ['no messages', ask(), /at least one message/],
    ['the assistant first', ask(says(text('x')), user), /first message must use the "user" role/],
    ['a system role', ask({ role: 'system', content: 'x' }), /'user' or 'assistant'/],
    ['empty content', ask(asks()), /non-empty content/],
    ['empty text', ask(asks(text(''))), /must be non-empty/],
    ['blank text', ask(user, says(text('\n')), user), /non-whitespace/],
    [
      'a call without its result',
      ask(user, says(use('a'), use('b')), asks(result('a'))),
      /without `tool_result` blocks immediately after: b/,
    ],
    ['a call at the end', ask(user, says(use('a'))), /without `tool_result` blocks/],
    [
      'results in another message than the next',
      ask(user, says(use('a')), asks(text('wait')), asks(result('a'))),
      /without `tool_result`|unexpected/,
    ],
    [
      'text before the results',
      ask(user, says(use('a')), asks(text('x'), result('a'))),
      /without `tool_result` blocks/,
    ],
    ['a result without its call', ask(asks(result('a'))), /unexpected `tool_use_id`/],
    ['a result twice', ask(user, says(use('a')), asks(result('a'), result('a'))), /single result/],
    [
      'an id with a dot',
      ask(user, says(use('functions.read:0')), asks(result('functions.read:0'))),
      /should match pattern/,
    ],
    ['an id twice', ask(user, says(use('a')), asks(result('a')), says(use('a')), asks(result('a'))), /must be unique/],
    ['input that is no object', ask(user, says(use('a', { input: '{}' })), asks(result('a'))), /valid dictionary/],
    [
      'an empty error',
      ask(user, says(use('a')), asks(result('a', { content: '', is_error: true }))),
      /cannot be empty if `is_error`/,
    ],
    [
      'a thought without a signature',
      ask(user, says({ type: 'thinking', thinking: 'hm' }, text('x')), user),
      /signature: Field required/,
    ],
    [
      'a thought that it did not sign',
      ask(user, says({ type: 'thinking', thinking: 'hm', signature: 'abc' }, text('x')), user),
      /Invalid `signature`/,
    ],
    [
      'hidden thoughts of another',
      ask(user, says({ type: 'redacted_thinking', data: 'abc' }, text('x')), user),
      /redacted_thinking/,
    ],
    [
      'a search that it did not run',
      ask(user, says({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }, text('x')), user),
      /without a corresponding/,
    ],
    ['the assistant last', ask(user, says(text('x'))), /prefill/],
    ['results from the assistant', ask(user, says(result('a')), user), /not allowed in assistant messages/],
    [
      'an image that is none',
      ask(asks({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'data:' } })),
      /invalid base64/,
    ],
    ['a choice without tools', { ...ask(user), tools: undefined, tool_choice: { type: 'auto' } }, /tool_choice/],
    [
      'calls without tools',
      { ...ask(user, says(use('a')), asks(result('a'))), tools: undefined },
      /must define `tools`/,
    ],
    ['no limit', { model: 'm', stream: true, messages: [user] }, /max_tokens/],
    ['an empty system', { ...ask(user), system: [text('')] }, /system.0/],
  ])('rejects %s', async ([, body, message]) => {
    const refused = await post('anthropic/v1/messages', body);
    expect(refused.status).toBe(400);
    expect(refused.message).toMatch(message);
  });

  test('reasoning is bound to its text, its model and everything before it', async () => {
    const server = await serve(() => ({ reasoning: 'Hmm.', text: 'Yes.' }));
    const send = async (body: object) => {
      const response = await fetch(`${server.url}/anthropic/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': 'key' },
        body: JSON.stringify(body),
      });
      return { status: response.status, text: await response.text() };
    };
    const { text: events } = await send(ask(user));
    const signature = /"signature_delta","signature":"([^"]+)"/.exec(events)?.[1];
    const answer = says({ type: 'thinking', thinking: 'Hmm.', signature }, text('Yes.'));
    const good = ask(user, answer, user);
    expect((await send(good)).status).toBe(200);
    for (const bad of [
      ask(user, says({ type: 'thinking', thinking: 'Hmm!', signature }, text('Yes.')), user),
      { ...good, model: 'other' },
      { ...good, system: [text('New.')] },
      ask(asks(text('Changed.')), answer, user),
      ask(user, user, answer, user),
    ]) {
      expect(await send(bad)).toMatchObject({ status: 400, text: expect.stringContaining('Invalid `signature`') });
    }
  });
});

test('a request without a key is rejected, and so is an unknown path', async () => {
  const server = await serve(() => 'ok');
  const post401 = await fetch(`${server.url}/openai/v1/chat/completions`, { method: 'POST', body: '{}' });
  expect(post401.status).toBe(401);
  expect((await fetch(`${server.url}/elsewhere`, { method: 'POST', body: '{}' })).status).toBe(404);
});

test('another process can use it by its URL', async () => {
  const server = await serve(['from over there']);
  const script = `
    const response = await fetch('${server.url}/openai/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer key' },
      body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    console.log(response.status, (await response.text()).includes('there'));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(stdout.trim()).toBe('200 true');
  expect(server.requests).toHaveLength(1);
});
