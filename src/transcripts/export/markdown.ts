/** A conversation as Markdown, for reading and for pasting into issues. */
import type { ConversationBlock } from '../../conversation/blocks.ts';
import { usageTotals } from '../../conversation/selectors.ts';
import type { SessionConversationState } from '../../conversation/state.ts';
import type { LossReport } from '../../formats/losses.ts';
import { pretty, readableTime, type ShownBlock, type Thread, threadView } from './thread-view.ts';

/** The whole conversation; its texts are inserted as they are, as Markdown. */
export function markdown(state: SessionConversationState, title: string, losses: LossReport): string {
  const view = threadView(state);
  const sections = [`# ${oneLine(title)}`, ...blocksOf(view.blocks, 0, losses)];
  for (const thread of view.detached) {
    sections.push(`## ${oneLine(nameOf(thread))}`, ...blocksOf(thread.blocks, 1, losses));
  }
  const { usage, messages } = usageTotals(state);
  if (messages > 0) {
    const cost = usage.costUsd === undefined ? '' : `, $${usage.costUsd.toFixed(4)}`;
    sections.push(
      '---',
      `${messages} ${messages === 1 ? 'answer' : 'answers'}, ${usage.inputTokens} tokens in, ${usage.outputTokens} tokens out${cost}`,
    );
  }
  return `${sections.join('\n\n')}\n`;
}

function blocksOf(blocks: readonly ShownBlock[], depth: number, losses: LossReport): string[] {
  return blocks.flatMap(({ block, thread }) => {
    const sections = blockSections(block, depth, losses);
    if (block.type !== 'subagent') return sections;
    if (thread?.blocks.length) {
      const inner = blocksOf(thread.blocks, depth + 1, losses);
      sections.push(`<details><summary>${escaped(nameOf(thread))}</summary>`, ...inner, '</details>');
    }
    if (block.output !== undefined) sections.push('**Answer**', block.output);
    return sections;
  });
}

function blockSections(block: ConversationBlock, depth: number, losses: LossReport): string[] {
  switch (block.type) {
    case 'user_message':
      return [heading('User', block, depth), block.content, ...attached(block, losses)].filter(said);
    case 'assistant_text': {
      const broken = block.status === 'error' ? ' (interrupted)' : '';
      return [heading(`Assistant${broken}`, block, depth), block.content, ...attached(block, losses)].filter(said);
    }
    case 'thinking':
      return ['<details><summary>Thinking</summary>', block.content, '</details>'];
    case 'tool_use': {
      const input = block.input === undefined ? (block.inputText ?? '') : pretty(block.input);
      return [`**Tool** ${code(block.toolName)}${statusOf(block)}`, fenced(input, 'json')];
    }
    case 'tool_result':
      if (block.parts) losses.add('parts of a result', 'Markdown shows its text', block.id);
      return [block.isError ? '**Error**' : '**Result**', fenced(block.output)];
    case 'subagent': {
      const about = block.description === undefined ? '' : `: ${oneLine(block.description)}`;
      const asked = block.input === undefined ? [] : [quoted(block.input)];
      return [`**Subagent** ${code(block.name ?? block.toolUseId)}${about}${statusOf(block)}`, ...asked];
    }
    case 'system':
    case 'error':
    case 'skill':
    case 'compaction': {
      if (block.data !== undefined) losses.add('data of a notice', 'Markdown shows its text', block.id);
      const name = block.subtype === undefined ? block.type : `${block.type} (${oneLine(block.subtype)})`;
      return [quoted(`**${name}** ${block.content}`)];
    }
    case 'unknown':
      return [`**${code(block.sourceType)}**`, fenced(pretty(block.data), 'json')];
    default:
      block satisfies never;
      return [];
  }
}

function heading(who: string, block: ConversationBlock, depth: number): string {
  const time = readableTime(block.timestamp);
  return `${'#'.repeat(Math.min(6, depth + 2))} ${who}${time && ` · ${time}`}`;
}

function attached(
  block: Extract<ConversationBlock, { type: 'user_message' | 'assistant_text' | 'thinking' }>,
  losses: LossReport,
): string[] {
  return (block.attachments ?? []).map(({ mediaType, filename }) => {
    losses.add('content of an attachment', 'Markdown names it', block.id);
    return `*Attachment: ${code(filename ?? mediaType)}*`;
  });
}

function statusOf(block: ConversationBlock): string {
  return block.status === 'complete' ? '' : ` (${block.status})`;
}

function nameOf({ subagent }: Thread): string {
  return `Subagent ${subagent.name ?? subagent.toolUseId}`;
}

function said(section: string): boolean {
  return section !== '';
}

/** How many backticks stand side by side at most. */
function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

/** A fence longer than any inside, so that no text ends its own. */
function fenced(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(2, longestRun(text)) + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function code(text: string): string {
  const plain = oneLine(text);
  const fence = '`'.repeat(longestRun(plain) + 1);
  return plain.includes('`') ? `${fence} ${plain} ${fence}` : `${fence}${plain}${fence}`;
}

function quoted(text: string): string {
  return text.replace(/^/gm, '> ');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function escaped(text: string): string {
  return oneLine(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
