import { checkCall, checkFunctions, checkStrictSchema } from './json-schema-check.ts';
import { type Body, isRecord, type Refusal } from './server-turn.ts';

/** Chat completions: what OpenAI, and stricter servers of the same API, reject with 400. */
export function checkOpenAIChat(body: Body, options: { readonly compatible: boolean }): Refusal | undefined {
  const { messages, tools, stream } = body;
  if (typeof body.model !== 'string') return { message: 'you must provide a model parameter', param: 'model' };
  if (!Array.isArray(messages) || messages.length === 0) {
    return { message: `Invalid 'messages': empty array. Expected an array with minimum length 1.`, param: 'messages' };
  }
  if (stream !== true) return { message: 'this server only streams', param: 'stream' };
  return checkTools(body, tools) ?? checkMessages(messages, options);
}

function checkTools(body: Body, tools: unknown): Refusal | undefined {
  if (tools === undefined) {
    return body.tool_choice === undefined
      ? checkFormat(body.response_format)
      : { message: `'tool_choice' is only allowed when 'tools' are specified.`, param: 'tool_choice' };
  }
  if (!Array.isArray(tools) || tools.length === 0) {
    return { message: `[] is too short - 'tools'`, param: 'tools' };
  }
  const functions = tools.map((tool) => (isRecord(tool) && isRecord(tool.function) ? tool.function : {}));
  return checkFunctions(functions, 'tools') ?? checkFormat(body.response_format);
}

function checkFormat(format: unknown): Refusal | undefined {
  if (!isRecord(format) || !isRecord(format.json_schema)) return undefined;
  const { name, schema, strict } = format.json_schema;
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    return { message: `Invalid 'response_format.json_schema.name'`, param: 'response_format' };
  }
  return strict === true ? checkStrictSchema(schema, 'response_format') : undefined;
}

const KEYS: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content', 'name'],
  developer: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'name', 'tool_calls', 'refusal'],
  tool: ['role', 'content', 'tool_call_id'],
};

function checkMessages(messages: readonly unknown[], options: { readonly compatible: boolean }): Refusal | undefined {
  const ids = new Set<unknown>();
  let open = new Set<unknown>();
  for (const [i, message] of messages.entries()) {
    const at = `messages.[${i}]`;
    if (!isRecord(message)) return { message: `Invalid type for '${at}'`, param: at };
    const { role, content, tool_calls: calls } = message;
    const keys = KEYS[String(role)];
    if (!keys) return { message: `Invalid value: '${String(role)}'.`, param: `${at}.role` };
    for (const key of Object.keys(message)) {
      if (keys.includes(key) || (options.compatible && key === 'reasoning_content')) continue;
      return { message: `Unknown parameter: '${at}.${key}'.`, param: `${at}.${key}` };
    }
    if (role === 'tool') {
      if (!open.delete(message.tool_call_id)) {
        return {
          message: `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.`,
          param: `${at}.role`,
        };
      }
      if (typeof content !== 'string' && !isPartList(content, ['text'])) {
        return { message: `Invalid type for '${at}.content'`, param: `${at}.content` };
      }
      continue;
    }
    if (open.size > 0) return unanswered(open, at);
    if (role === 'assistant') {
      const refusal = checkAssistant(message, at, ids);
      if (refusal) return refusal;
      if (Array.isArray(calls)) open = new Set(calls.map((call: Body) => call.id));
    } else if (role === 'user') {
      if (typeof content !== 'string' && !isPartList(content, ['text', 'image_url', 'file', 'input_audio'])) {
        return { message: `Invalid value for '${at}.content'`, param: `${at}.content` };
      }
      const image = Array.isArray(content) ? content.find((part: Body) => part.type === 'image_url') : undefined;
      if (image && !/^(https?:\/\/|data:image\/[a-z]+;base64,[A-Za-z0-9+/]+=*$)/.test(image.image_url?.url)) {
        return { message: `Invalid image_url in '${at}'`, param: `${at}.content` };
      }
    } else if (typeof content !== 'string' && !isPartList(content, ['text'])) {
      return { message: `Invalid value for '${at}.content'`, param: `${at}.content` };
    }
  }
  return open.size > 0 ? unanswered(open, 'messages') : undefined;
}

function checkAssistant(message: Body, at: string, ids: Set<unknown>): Refusal | undefined {
  const { content, tool_calls: calls } = message;
  if (calls === undefined) {
    return typeof content === 'string' || isPartList(content, ['text', 'refusal'])
      ? undefined
      : { message: `Invalid value for 'content': expected a string, got null.`, param: `${at}.content` };
  }
  if (!Array.isArray(calls) || calls.length === 0)
    return { message: `[] is too short - '${at}.tool_calls'`, param: at };
  for (const [n, call] of calls.entries()) {
    const param = `${at}.tool_calls[${n}]`;
    if (!isRecord(call) || call.type !== 'function' || !isRecord(call.function)) {
      return { message: `Missing required parameter: '${param}.function'.`, param };
    }
    if (typeof call.id !== 'string' || call.id === '')
      return { message: `Invalid '${param}.id': empty string.`, param };
    if (call.id.length > 40) {
      return {
        message: `Invalid '${param}.id': string too long. Expected a string with maximum length 40, but got a string with length ${call.id.length} instead.`,
        param,
      };
    }
    if (ids.has(call.id)) return { message: `Duplicate value for '${param}.id': ${call.id}`, param };
    ids.add(call.id);
    const refusal = checkCall({ name: call.function.name, arguments: call.function.arguments }, `${param}.function`);
    if (refusal) return refusal;
  }
  return undefined;
}

function isPartList(content: unknown, types: readonly string[]): boolean {
  return (
    Array.isArray(content) &&
    content.length > 0 &&
    content.every((part) => isRecord(part) && types.includes(String(part.type)))
  );
}

function unanswered(open: ReadonlySet<unknown>, at: string): Refusal {
  return {
    message: `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(', ')}`,
    param: at,
  };
}
