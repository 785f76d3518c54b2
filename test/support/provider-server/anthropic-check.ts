import { decrypt, seal } from './seals.ts';
import { type Body, isRecord, type Refusal } from './server-turn.ts';

/** The Messages API, with the rules of its newest models: reasoning is bound to its model and to everything before it. */
export function checkAnthropic(body: Body): Refusal | undefined {
  const { messages, tools, system } = body;
  if (typeof body.model !== 'string') return { message: 'model: Field required' };
  if (!Number.isInteger(body.max_tokens) || Number(body.max_tokens) < 1)
    return { message: 'max_tokens: Field required' };
  if (body.stream !== true) return { message: 'stream: this server only streams' };
  if (!Array.isArray(messages) || messages.length === 0) {
    return { message: 'messages: at least one message is required' };
  }
  if (Array.isArray(system)) {
    if (system.length === 0) return { message: 'system: List should have at least 1 item' };
    for (const [i, block] of system.entries()) {
      if (!isRecord(block) || isBlank(block.text))
        return { message: `system.${i}: text content blocks must be non-empty` };
    }
  }
  const refusal = checkTools(tools, body.tool_choice) ?? checkMessages(messages, body);
  if (refusal || tools !== undefined || !messages.some(usesTools)) return refusal;
  return { message: 'Requests which include `tool_use` or `tool_result` blocks must define `tools`.' };
}

function usesTools(message: Body): boolean {
  return blocksOf(message).some(({ type }) => type === 'tool_use' || type === 'tool_result');
}

function checkTools(tools: unknown, choice: unknown): Refusal | undefined {
  if (tools === undefined) {
    return choice === undefined ? undefined : { message: 'tool_choice may only be specified while providing tools.' };
  }
  if (!Array.isArray(tools)) return { message: 'tools: Input should be a valid list' };
  const names = new Set<unknown>();
  for (const [i, tool] of tools.entries()) {
    if (!isRecord(tool) || typeof tool.name !== 'string' || !/^[a-zA-Z0-9_-]{1,128}$/.test(tool.name)) {
      return { message: `tools.${i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'` };
    }
    if (names.has(tool.name)) return { message: 'tools: Tool names must be unique.' };
    names.add(tool.name);
    if (tool.type !== undefined && tool.type !== 'custom') continue;
    if (!isRecord(tool.input_schema) || tool.input_schema.type !== 'object') {
      return { message: `tools.${i}.custom.input_schema.type: Field required` };
    }
  }
  return undefined;
}

type Block = Body;

/** A message's blocks; plain text is one block. */
export function blocksOf(message: Body): readonly Block[] {
  const { content } = message;
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly Block[]);
}

function checkMessages(messages: readonly unknown[], body: Body): Refusal | undefined {
  const ids = new Set<unknown>();
  const said: unknown[] = [];
  let asked: readonly unknown[] = [];
  for (const [i, message] of messages.entries()) {
    const at = `messages.${i}`;
    if (!isRecord(message)) return { message: `${at}: Input should be a valid dictionary` };
    const { role, content } = message;
    if (role !== 'user' && role !== 'assistant') {
      return { message: `${at}.role: Input should be 'user' or 'assistant'` };
    }
    if (i === 0 && role !== 'user') return { message: 'messages: first message must use the "user" role' };
    if (typeof content === 'string' ? isBlank(content) : !Array.isArray(content) || content.length === 0) {
      return {
        message: `${at}: all messages must have non-empty content except for the optional final assistant message`,
      };
    }
    const blocks = blocksOf(message);
    for (const [j, block] of blocks.entries()) {
      const refusal = checkBlock(block, { at: `${at}.content.${j}`, role, ids, said, body });
      if (refusal) return refusal;
      said.push([role, withoutCache(block)]);
    }
    const refusal =
      role === 'user' ? checkResults(blocks, asked, at) : checkAssistant(blocks, at, i === messages.length - 1);
    if (refusal) return refusal;
    asked = role === 'assistant' ? blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id) : [];
    if (asked.length > 0 && i === messages.length - 1) return withoutResults(asked, at);
    const next = messages[i + 1];
    if (asked.length > 0 && isRecord(next) && next.role !== 'user') return withoutResults(asked, at);
  }
  return undefined;
}

function checkBlock(
  block: Block,
  context: { at: string; role: string; ids: Set<unknown>; said: readonly unknown[]; body: Body },
): Refusal | undefined {
  const { at, role, ids, said, body } = context;
  const mine = (type: string): boolean =>
    ASSISTANT_BLOCKS.has(type) ? role === 'assistant' : type === 'text' || role === 'user';
  if (!mine(String(block.type)))
    return { message: `${at}: \`${String(block.type)}\` blocks are not allowed in ${role} messages` };
  switch (block.type) {
    case 'text':
      if (block.text === '') return { message: `${at}: text content blocks must be non-empty` };
      return isBlank(block.text)
        ? { message: `${at}: text content blocks must contain non-whitespace text` }
        : undefined;
    case 'image':
    case 'document':
      return checkSource(block.source, at);
    case 'thinking':
      if (typeof block.signature !== 'string') return { message: `${at}.thinking.signature: Field required` };
      if (block.signature !== seal('thinking', body.model, prefixOf(body, said), block.thinking)) {
        return {
          message: `${at}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`,
        };
      }
      return undefined;
    case 'redacted_thinking':
      return decrypt('redacted', block.data) === undefined
        ? { message: `${at}: Invalid \`data\` in \`redacted_thinking\` block` }
        : undefined;
    case 'tool_use':
    case 'server_tool_use': {
      const pattern = block.type === 'tool_use' ? /^[a-zA-Z0-9_-]+$/ : /^srvtoolu_[a-zA-Z0-9_]+$/;
      if (typeof block.id !== 'string' || !pattern.test(block.id)) {
        return { message: `${at}.${block.type}.id: String should match pattern '${pattern.source}'` };
      }
      if (ids.has(block.id)) return { message: `${at}: \`tool_use\` ids must be unique` };
      ids.add(block.id);
      if (typeof block.name !== 'string' || !/^[a-zA-Z0-9_-]{1,128}$/.test(block.name)) {
        return { message: `${at}.${block.type}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'` };
      }
      return isRecord(block.input)
        ? undefined
        : { message: `${at}.${block.type}.input: Input should be a valid dictionary` };
    }
    case 'web_search_tool_result': {
      const results = Array.isArray(block.content) ? block.content : [];
      const read = results.every((result) => decrypt('search', result.encrypted_content) !== undefined);
      return read ? undefined : { message: `${at}: Invalid \`encrypted_content\` in \`search_result\` block` };
    }
    case 'tool_result':
      return undefined;
    default:
      return {
        message: `${at}: Input tag '${String(block.type)}' found using 'type' does not match any of the expected tags`,
      };
  }
}

const ASSISTANT_BLOCKS = new Set([
  'thinking',
  'redacted_thinking',
  'tool_use',
  'server_tool_use',
  'web_search_tool_result',
]);

function checkSource(source: unknown, at: string): Refusal | undefined {
  if (!isRecord(source)) return { message: `${at}.source: Field required` };
  if (source.type === 'url')
    return /^https?:/.test(String(source.url)) ? undefined : { message: `${at}.source.url: invalid` };
  if (source.type === 'text') return isBlank(source.data) ? { message: `${at}.source.data: empty` } : undefined;
  if (!/^(image\/(jpeg|png|gif|webp)|application\/pdf)$/.test(String(source.media_type))) {
    return {
      message: `${at}.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`,
    };
  }
  if (!/^[A-Za-z0-9+/]+=*$/.test(String(source.data))) return { message: `${at}.source.base64: invalid base64 data` };
  return undefined;
}

/** Results come first, one for each call of the previous message, and for no other. */
function checkResults(blocks: readonly Block[], asked: readonly unknown[], at: string): Refusal | undefined {
  const first = blocks.findIndex(({ type }) => type !== 'tool_result');
  const results = first === -1 ? blocks : blocks.slice(0, first);
  const answered = new Set<unknown>();
  for (const [j, block] of blocks.entries()) {
    if (block.type !== 'tool_result') continue;
    const id = block.tool_use_id;
    if (!asked.includes(id)) {
      return {
        message: `${at}.content.${j}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(id)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      };
    }
    if (answered.has(id))
      return {
        message: `${at}.content.${j}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${String(id)}`,
      };
    if (results.includes(block)) answered.add(id);
    const { content, is_error: isError } = block;
    const empty = content === undefined || content === '' || (Array.isArray(content) && content.length === 0);
    if (isError === true && empty)
      return { message: `${at}.content.${j}: content cannot be empty if \`is_error\` is true` };
    if (Array.isArray(content)) {
      for (const part of content) {
        if (part.type === 'text' && isBlank(part.text))
          return { message: `${at}.content.${j}: text content blocks must be non-empty` };
        const refusal = part.type === 'text' ? undefined : checkSource(part.source, at);
        if (refusal) return refusal;
      }
    } else if (content !== undefined && typeof content !== 'string') {
      return { message: `${at}.content.${j}.tool_result.content: Input should be a valid string` };
    }
  }
  const missing = asked.filter((id) => !answered.has(id));
  return missing.length > 0 ? withoutResults(missing, at) : undefined;
}

function checkAssistant(blocks: readonly Block[], at: string, isLast: boolean): Refusal | undefined {
  const last = blocks.at(-1);
  if (last?.type === 'thinking' || last?.type === 'redacted_thinking') {
    return { message: `${at}: The final block in an assistant message cannot be \`thinking\`.` };
  }
  const ran = blocks.filter(({ type }) => type === 'server_tool_use').map(({ id }) => id);
  const results = blocks.filter(({ type }) => type === 'web_search_tool_result').map((block) => block.tool_use_id);
  for (const id of ran) {
    if (!results.includes(id)) {
      return {
        message: `${at}: \`web_search\` tool use with id \`${String(id)}\` was found without a corresponding \`web_search_tool_result\` block`,
      };
    }
  }
  for (const id of results) {
    if (!ran.includes(id)) {
      return {
        message: `${at}: unexpected \`tool_use_id\` found in \`web_search_tool_result\` blocks: ${String(id)}.`,
      };
    }
  }
  // A paused turn is sent back unchanged; any other response cannot be prefilled.
  if (isLast && ran.length === 0 && !blocks.some(({ type }) => type === 'tool_use')) {
    return {
      message: 'This model does not support assistant message prefill. The conversation must end with a user message.',
    };
  }
  return undefined;
}

/** Everything before the reasoning that it is bound to. */
export function prefixOf(body: Body, said: readonly unknown[]): readonly unknown[] {
  return [body.system ?? null, body.tools ?? null, said];
}

/** A block without its cache mark, which is not content. */
export function withoutCache(block: Block): Block {
  const { cache_control: _, ...rest } = block;
  return rest;
}

function withoutResults(ids: readonly unknown[], at: string): Refusal {
  return {
    message: `${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  };
}

function isBlank(text: unknown): boolean {
  return typeof text !== 'string' || text.trim() === '';
}
