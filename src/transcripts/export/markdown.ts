/** A conversation as Markdown, for reading and for pasting into issues. */
import type {
  ConversationBlock,
  SessionConversationState,
  SubagentBlock,
  ToolResultBlock,
} from '../../conversation/blocks.ts';
import { describeNotice } from '../../conversation/describe-notice.ts';
import type { ToolUseDescription } from '../../conversation/describe-tool-use.ts';
import { type ToolUseContent, toolUseContents } from '../../conversation/tool-use-content.ts';
import { containedMarkdown, escapedMarkdown, escapedSummary, fenced, inlineCode } from './contained-markdown.ts';
import {
  type ConversationFacts,
  conversationFacts,
  type DocumentOptions,
  type Page,
  plural,
} from './conversation-facts.ts';
import {
  isFolded,
  isLong,
  lengthOf,
  pretty,
  readableTime,
  type ShownBlock,
  shortData,
  threadName,
  threadView,
  withoutOuterLines,
} from './thread-view.ts';

/** The whole conversation. Its texts are Markdown, each contained in its place. */
export function markdown(state: SessionConversationState, { title, about, losses }: DocumentOptions): string {
  const view = threadView(state);
  const facts = conversationFacts(state, about);
  const page: Page = { losses, day: facts.day };
  const sections = [`# ${escapedMarkdown(title)}`, ...head(facts), ...blocksOf(view.blocks, 0, page)];
  const detached = view.detached.flatMap((thread) => [
    `## ${escapedMarkdown(threadName(thread))}`,
    ...blocksOf(thread.blocks, 1, page),
  ]);
  return `${[...sections, ...detached].filter((section) => section !== '').join('\n\n')}\n`;
}

function head({ about, time, totals }: ConversationFacts): string[] {
  const rows = [
    ...about.map(([name, value]) => `- ${name}: ${inlineCode(value)}`),
    ...(time ? [`- Time: ${time}`] : []),
  ];
  if (totals.length > 0) rows.push(`- Totals: ${totals.join(' · ').replaceAll('$', '\\$')}`);
  return rows.length > 0 ? [rows.join('\n')] : [];
}

function blocksOf(blocks: readonly ShownBlock[], depth: number, page: Page): string[] {
  return blocks.flatMap((shown) => blockSections(shown, depth, page));
}

function blockSections({ block, thread, call }: ShownBlock, depth: number, page: Page): string[] {
  switch (block.type) {
    case 'user_message':
      return [heading('User', block, depth, page), contained(block.content, depth), ...attached(block, page)];
    case 'assistant_text': {
      const name = block.status === 'error' ? 'Assistant (interrupted)' : 'Assistant';
      return [heading(name, block, depth, page), contained(block.content, depth), ...attached(block, page)];
    }
    case 'thinking':
      return folded('Thinking', [contained(block.content, depth), ...attached(block, page)]);
    case 'tool_use': {
      const status = block.status === 'complete' ? '' : ` (${block.status === 'error' ? 'failed' : 'no result'})`;
      const detail = call?.detail === undefined ? '' : escapedMarkdown(call.detail);
      return [
        heading(`${callName(call)}${status}`, block, depth + 1, page),
        detail,
        ...toolUseContents(block).map((content) => contentOf(content, depth)),
      ];
    }
    case 'tool_result':
      return resultSections(block, call, page);
    case 'subagent':
      return [
        ...subagentHead(block, depth, page),
        ...(thread?.blocks.length
          ? folded(
              `${threadName(thread)}, ${plural(thread.blocks.length, 'block')}`,
              blocksOf(thread.blocks, depth + 1, page),
            )
          : []),
        ...(block.output === undefined || block.output.trim() === ''
          ? []
          : ['**Response**', quoted(contained(block.output, depth))]),
      ];
    case 'system':
    case 'error':
    case 'skill':
    case 'compaction': {
      if (block.data !== undefined) page.losses.add('data of a notice', 'Markdown shows its text', block.id);
      const { name: notice, text } = describeNotice(block);
      if (isFolded(block)) return folded(`${notice}, ${lengthOf(text)}`, [contained(text, depth)]);
      const name = `**${escapedMarkdown(notice)}**`;
      return [quoted(text === '' ? name : `${name}\n\n${contained(text, depth)}`)];
    }
    case 'unknown':
      return folded(`Unknown: ${block.sourceType}`, [fenced(pretty(block.data), 'json')]);
    default:
      block satisfies never;
      return [];
  }
}

function callName(call: ToolUseDescription | undefined): string {
  if (!call) return 'Call';
  if (call.subject === undefined) return escapedMarkdown(call.verb);
  const isProse = call.kind === 'plan' || call.kind === 'question';
  return `${escapedMarkdown(call.verb)} ${isProse ? escapedMarkdown(call.subject) : inlineCode(call.subject)}`;
}

function contentOf(content: ToolUseContent, depth: number): string {
  switch (content.type) {
    case 'code':
      return foldedCode(content.text, content.language);
    case 'diff':
      return foldedCode(content.text, 'diff');
    case 'steps':
      return content.steps
        .map(
          ({ text, status }) =>
            `- [${status === 'completed' ? 'x' : ' '}] ${escapedMarkdown(text)}${status === 'in_progress' ? ' (in progress)' : ''}`,
        )
        .join('\n');
    case 'text':
      return quoted(contained(content.text, depth));
    case 'data':
      return shortData(content.data) === undefined
        ? foldedCode(pretty(content.data), 'json')
        : inlineCode(shortData(content.data) ?? '');
    default:
      return content satisfies never;
  }
}

function resultSections(block: ToolResultBlock, call: ToolUseDescription | undefined, page: Page): string[] {
  if (block.parts) page.losses.add('parts of a result', 'Markdown shows its text', block.id);
  const name = block.isError ? 'Error' : 'Result';
  const of = call ? ` of ${callName(call)}` : '';
  if (block.output.trim() === '') return [`**${name}**${of}: no output`];
  if (!isLong(block.output)) return [`**${name}**${of}`, fenced(withoutOuterLines(block.output))];
  const title = call ? `${name} of ${call.title}, ${lengthOf(block.output)}` : `${name}, ${lengthOf(block.output)}`;
  return folded(title, [fenced(withoutOuterLines(block.output))]);
}

function subagentHead(block: SubagentBlock, depth: number, page: Page): string[] {
  const status = block.status === 'complete' ? '' : ` (${block.status === 'error' ? 'failed' : 'running'})`;
  const name = `Subagent ${inlineCode(block.name ?? block.toolUseId)}${status}`;
  const about = block.description === undefined ? '' : escapedMarkdown(block.description);
  const input = block.input === undefined || block.input.trim() === '' ? '' : quoted(contained(block.input, depth));
  return [
    heading(name, block, depth + 1, page),
    about,
    ...(isLong(input) ? folded(`Prompt, ${lengthOf(input)}`, [input]) : [input]),
  ];
}

function heading(name: string, block: ConversationBlock, depth: number, page: Page): string {
  const time = readableTime(block.timestamp, page.day);
  return `${'#'.repeat(Math.min(6, depth + 2))} ${name}${time && ` · ${time}`}`;
}

/** A text of the conversation: Markdown, with its headings below those of the document. */
function contained(text: string, depth: number): string {
  return containedMarkdown(text, { headings: Math.min(6, depth + 4) });
}

function folded(title: string, sections: readonly string[]): string[] {
  return [`<details>\n<summary>${escapedSummary(title)}</summary>`, ...sections, '</details>'];
}

function foldedCode(text: string, language: string): string {
  const code = fenced(text.replace(/\n$/, ''), language);
  return isLong(text) ? folded(lengthOf(text), [code]).join('\n\n') : code;
}

function attached(
  block: Extract<ConversationBlock, { type: 'user_message' | 'assistant_text' | 'thinking' }>,
  page: Page,
): string[] {
  return (block.attachments ?? []).map(({ mediaType, filename }) => {
    page.losses.add('content of an attachment', 'Markdown names it', block.id);
    return `*Attachment: ${inlineCode(filename ?? mediaType)}*`;
  });
}

function quoted(text: string): string {
  return text.replace(/^(?=.)/gm, '> ').replace(/^$/gm, '>');
}
