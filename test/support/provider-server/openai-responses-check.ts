import { checkCall, checkFunctions, checkStrictSchema } from './json-schema-check.ts';
import { decrypt } from './seals.ts';
import { type Body, isRecord, type Refusal } from './server-turn.ts';

/** The Responses API: items instead of messages, reasoning that only its own model may see again. */
export function checkOpenAIResponses(body: Body, stored: ReadonlySet<string>): Refusal | undefined {
  const { input, tools, stream } = body;
  if (typeof body.model !== 'string') return { message: 'you must provide a model parameter', param: 'model' };
  if (!Array.isArray(input) || input.length === 0) return { message: `Invalid 'input': empty array.`, param: 'input' };
  if (stream !== true) return { message: 'this server only streams', param: 'stream' };
  if (tools !== undefined) {
    if (!Array.isArray(tools) || tools.length === 0) return { message: `[] is too short - 'tools'`, param: 'tools' };
    const refusal = checkFunctions(
      tools.filter((tool) => isRecord(tool) && tool.type === 'function'),
      'tools',
    );
    if (refusal) return refusal;
  } else if (body.tool_choice !== undefined) {
    return { message: `'tool_choice' is only allowed when 'tools' are specified.`, param: 'tool_choice' };
  }
  const format = isRecord(body.text) ? body.text.format : undefined;
  if (isRecord(format) && format.type === 'json_schema' && format.strict === true) {
    const refusal = checkStrictSchema(format.schema, 'text.format.schema');
    if (refusal) return refusal;
  }
  return checkItems(input, { model: body.model, stored });
}

/** The items that may follow a reasoning item. */
const OUTPUT = new Set(['reasoning', 'function_call', 'web_search_call', 'item_reference']);

function checkItems(
  input: readonly unknown[],
  context: { readonly model: string; readonly stored: ReadonlySet<string> },
): Refusal | undefined {
  const calls = new Set<unknown>();
  const open = new Set<unknown>();
  for (const [i, item] of input.entries()) {
    const at = `input[${i}]`;
    if (!isRecord(item)) return { message: `Invalid type for '${at}'`, param: at };
    switch (item.type ?? 'message') {
      case 'message': {
        const refusal = checkMessage(item, at);
        if (refusal) return refusal;
        break;
      }
      case 'reasoning': {
        const content = decrypt('reasoning', item.encrypted_content);
        if (content === undefined || !content.startsWith(`${context.model}\n`)) {
          return { message: `The encrypted content for item ${String(item.id)} could not be verified.`, param: at };
        }
        if (!Array.isArray(item.summary)) return { message: `Missing required parameter: '${at}.summary'.`, param: at };
        const next = input[i + 1];
        const follows = isRecord(next) && (OUTPUT.has(String(next.type)) || next.role === 'assistant');
        if (!follows) {
          return {
            message: `Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`,
            param: at,
          };
        }
        break;
      }
      case 'function_call': {
        if (typeof item.call_id !== 'string' || item.call_id === '' || item.call_id.length > 64) {
          return { message: `Invalid '${at}.call_id': expected 1 to 64 characters.`, param: at };
        }
        if (calls.has(item.call_id)) return { message: `Duplicate call_id ${item.call_id}`, param: at };
        calls.add(item.call_id);
        open.add(item.call_id);
        const refusal = checkCall({ name: item.name, arguments: item.arguments }, at);
        if (refusal) return refusal;
        break;
      }
      case 'function_call_output':
        if (!open.delete(item.call_id)) {
          return {
            message: `No tool call found for function call output with call_id ${String(item.call_id)}.`,
            param: 'input',
          };
        }
        if (typeof item.output !== 'string' && !(Array.isArray(item.output) && item.output.length > 0)) {
          return { message: `Invalid type for '${at}.output'`, param: at };
        }
        break;
      case 'web_search_call':
        if (typeof item.id !== 'string' || !item.id.startsWith('ws_')) {
          return {
            message: `Invalid '${at}.id': '${String(item.id)}'. Expected an ID that begins with 'ws'.`,
            param: at,
          };
        }
        break;
      case 'item_reference':
        if (!context.stored.has(String(item.id))) {
          return {
            message: `Item with id '${String(item.id)}' not found. Items are not persisted when \`store\` is set to false.`,
            param: 'input',
          };
        }
        break;
      default:
        return { message: `Invalid value: '${String(item.type)}'.`, param: `${at}.type` };
    }
  }
  if (open.size === 0) return undefined;
  return { message: `No tool output found for function call ${[...open].join(', ')}.`, param: 'input' };
}

function checkMessage(item: Body, at: string): Refusal | undefined {
  const { role, content } = item;
  if (!['system', 'developer', 'user', 'assistant'].includes(String(role))) {
    return { message: `Invalid value: '${String(role)}'.`, param: `${at}.role` };
  }
  if (typeof content === 'string') return undefined;
  if (!Array.isArray(content) || content.length === 0) return { message: `Invalid '${at}.content'`, param: at };
  const allowed = role === 'assistant' ? ['output_text', 'refusal'] : ['input_text', 'input_image', 'input_file'];
  for (const part of content) {
    if (!isRecord(part) || !allowed.includes(String(part.type))) {
      return { message: `Invalid value: '${isRecord(part) ? String(part.type) : 'part'}'.`, param: `${at}.content` };
    }
    if (
      part.type === 'input_image' &&
      !/^(https?:|data:image\/[a-z]+;base64,[A-Za-z0-9+/]+=*$)/.test(String(part.image_url))
    ) {
      return { message: `Invalid '${at}.content.image_url'`, param: `${at}.content` };
    }
  }
  return undefined;
}
