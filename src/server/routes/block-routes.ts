/** Routes for pages that do not hold a whole session: blocks in pages, and long texts in pieces. */
import type {
  BlockList,
  ConversationBlock,
  SessionConversationState,
  SubagentState,
} from '../../conversation/blocks.ts';
import { HoldfastError } from '../../core/errors.ts';
import { textOf } from '../../core/log/messages.ts';
import { type CutText, pieceOf, type TextPiece, withShortTexts } from '../http/shortened.ts';
import { invalid, notFound, quoted, type Route, route } from '../route.ts';
import { COUNT, countOf, limitOf, listOf, ok, TEXT } from './schemas.ts';

/** A page of a conversation's blocks: `GET /sessions/:id/blocks`. */
export interface BlockPage {
  /** The newest event that is shown. */
  readonly seq: number;
  /** `main`, or the tool use id of a subagent. */
  readonly conversation: string;
  /** How many blocks the conversation has. */
  readonly total: number;
  /** The position of the first block of this page. */
  readonly from: number;
  readonly blocks: readonly ConversationBlock[];
  /** Long texts are cut: each is named by its path in `blocks`. */
  readonly cut: readonly CutText[];
  /** The subagents that this conversation started, without their blocks. */
  readonly subagents: readonly (Omit<SubagentState, 'blocks'> & { readonly blocks: number })[];
}

const MAX_SUBAGENTS = 5000;
const DEFAULT_TEXT = 20_000;
const PIECE = ok('A piece; of media it is base64', { text: TEXT, from: COUNT, length: COUNT, next: COUNT }, ['next']);
const PIECE_QUERY = {
  from: countOf('where the piece starts; 0'),
  limit: limitOf(1_000_000, 'the most characters of a piece; 100000'),
} as const;
const CONVERSATION = { type: 'string', description: 'the tool use id of a subagent; main unless given' } as const;

/** Routes that read a session in pieces. */
export const BLOCK_ROUTES: readonly Route[] = [
  route('GET /sessions/:id/blocks', {
    name: 'getBlocks',
    summary: 'The blocks of a conversation in pages, the newest page unless from is given; imported sessions as well',
    query: {
      conversation: CONVERSATION,
      from: countOf('the position of the first block; the newest page unless given'),
      around: { type: 'string', description: 'the id of a block: the page that has it in its middle' },
      limit: limitOf(500, 'the most blocks of a page; 100'),
      maxText: countOf(`longer texts are cut; ${DEFAULT_TEXT}`),
      machinery: { type: 'boolean', description: 'true: with blocks for operators' },
    },
    response: ok('A page', {
      ...{ seq: COUNT, conversation: TEXT, total: COUNT, from: COUNT, blocks: listOf('ConversationBlock') },
      ...{ cut: listOf('CutText'), subagents: listOf('SubagentState, with the number of its blocks') },
    }),
    inSession: async (session, { query }, { conversations }) => {
      const { seq, state } = await conversations.read(session);
      return blockPage(seq, state, query);
    },
  }),
  route('GET /sessions/:id/blocks/:blockId', {
    name: 'getBlockText',
    summary: 'A text of a block, in pieces',
    query: {
      conversation: CONVERSATION,
      path: {
        type: 'string',
        isRequired: true,
        isRepeated: true,
        description: 'the path of the text in the block, as in cut',
      },
      ...PIECE_QUERY,
    },
    response: PIECE,
    inSession: async (session, { query, params }, { conversations }) => {
      const { state } = await conversations.read(session);
      const { conversation = 'main', path } = query;
      const { blockId = '' } = params;
      const block = blocksOf(state, conversation).find(({ id }) => id === blockId);
      if (!block) throw notFound(`there is no block ${quoted(blockId)} in this conversation`);
      const text = path.reduce<unknown>(fieldOf, block);
      if (typeof text !== 'string') throw invalid('path names no text of this block');
      return pieceOfQuery(text, query);
    },
  }),
  route('GET /sessions/:id/texts/:messageId', {
    name: 'getMessageText',
    summary: 'The text of a recorded message with its external content, in pieces',
    query: PIECE_QUERY,
    response: PIECE,
    inSession: async (session, { query, params }) => {
      const { messageId = '' } = params;
      const recorded = session.state.record.messages.find(({ id }) => id === messageId);
      if (!recorded) throw notFound(`there is no message ${quoted(messageId)}`);
      const [message = recorded] = await session.resolve([recorded]);
      return pieceOfQuery(textOf(message), query);
    },
  }),
  route('GET /sessions/:id/contents/:hash', {
    name: 'getContent',
    summary: 'An external content of the session (`sha256:…` in attachments and parts), in pieces',
    query: PIECE_QUERY,
    response: PIECE,
    inSession: async ({ id, incarnation, store }, { query, params: { hash = '' } }) => {
      const isName = /^sha256:[0-9a-f]{64}$/.test(hash);
      const text = isName ? await store.readContent(id, hash, { incarnation }) : undefined;
      if (text !== undefined) return pieceOfQuery(text, query);
      throw new HoldfastError('CONTENT_NOT_FOUND', 'this session refers to no such content; its name is sha256:<hash>');
    },
  }),
];

interface PageQuery {
  readonly conversation?: string | undefined;
  readonly from?: number | undefined;
  readonly limit?: number | undefined;
  readonly maxText?: number | undefined;
  readonly around?: string | undefined;
  readonly machinery?: boolean | undefined;
}

function blockPage(seq: number, state: SessionConversationState, query: PageQuery): BlockPage {
  const { conversation = 'main', limit = 100, maxText = DEFAULT_TEXT, around, machinery = false } = query;
  const all = blocksOf(state, conversation);
  const blocks = machinery ? all : all.filter((block) => !('machinery' in block && block.machinery));
  const { length: total } = blocks;
  const from = query.from ?? (around === undefined ? total - limit : indexOf(blocks, around) - Math.floor(limit / 2));
  const start = Math.min(Math.max(0, from), total);
  const page = Array.from(
    { length: Math.min(limit, total - start) },
    (_, i) => blocks.at(start + i) as ConversationBlock,
  );
  const { value, cut } = withShortTexts(page, maxText);
  const subagents = state.subagents.filter(({ parentConversationId: parent }) => parent === conversation);
  return {
    ...{ seq, conversation, total, from: start, blocks: value, cut },
    subagents: subagents.slice(-MAX_SUBAGENTS).map((subagent) => ({ ...subagent, blocks: subagent.blocks.length })),
  };
}

function indexOf(blocks: Iterable<ConversationBlock>, id: string): number {
  const index = [...blocks].findIndex((block) => block.id === id);
  if (index >= 0) return index;
  throw notFound(`there is no block ${quoted(id)} in this conversation`);
}

function blocksOf({ blocks, subagents }: SessionConversationState, conversation: string): BlockList {
  if (conversation === 'main') return blocks;
  const subagent = subagents.find(({ toolUseId }) => toolUseId === conversation);
  if (subagent) return subagent.blocks;
  throw notFound(`there is no subagent ${quoted(conversation)}`);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

function pieceOfQuery(text: string, { from = 0, limit = 100_000 }: Pick<PageQuery, 'from' | 'limit'>): TextPiece {
  return pieceOf(text, from, limit);
}
