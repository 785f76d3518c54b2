/**
 * A conversation as one HTML file: no script, nothing loaded from anywhere, and a policy that enforces it. The
 * conversation's text is escaped, never markup.
 */
import type { Attachment, ConversationBlock, SubagentBlock, ToolResultBlock } from '../../conversation/blocks.ts';
import type { ToolUseDescription } from '../../conversation/describe-tool-use.ts';
import type { SessionConversationState } from '../../conversation/state.ts';
import { type ToolUseContent, toolUseContents } from '../../conversation/tool-use-content.ts';
import { locateMedia, Unsendable } from '../../formats/media.ts';
import { type ConversationFacts, conversationFacts, type DocumentOptions, type Page } from './conversation-facts.ts';
import { STYLE } from './html-style.ts';
import { diffHtml, escapeHtml, pre, prose } from './prose-html.ts';
import {
  isFolded,
  isLong,
  lengthOf,
  noticeName,
  noticeText,
  pretty,
  readableTime,
  type ShownBlock,
  shortData,
  threadName,
  threadView,
  withoutOuterLines,
} from './thread-view.ts';

/** The whole conversation as a document that can be opened anywhere. */
export function html(state: SessionConversationState, { title, about, losses }: DocumentOptions): string {
  const view = threadView(state);
  const facts = conversationFacts(state, about);
  const page: Page = { losses, day: facts.day };
  const detached = view.detached.map(
    (thread) =>
      `<section class="thread"><h2>${escapeHtml(threadName(thread))}</h2>${blocksHtml(thread.blocks, page)}</section>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${head(facts)}
${blocksHtml(view.blocks, page)}
${detached.join('\n')}
</main>
</body>
</html>
`;
}

function head({ about, time, totals }: ConversationFacts): string {
  const facts = [
    ...about,
    ...(time ? [['Time', time] as const] : []),
    ...(totals.length > 0 ? [['Totals', totals.join(' · ')] as const] : []),
  ];
  if (facts.length === 0) return '';
  return `<dl>${facts.map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`).join('')}</dl>`;
}

function blocksHtml(blocks: readonly ShownBlock[], page: Page): string {
  return blocks.map((shown) => blockHtml(shown, page)).join('\n');
}

function blockHtml({ block, thread, call }: ShownBlock, page: Page): string {
  switch (block.type) {
    case 'user_message':
      return article(
        page,
        block,
        'user',
        'User',
        prose(block.content) + attachments(block.attachments, block.id, page),
      );
    case 'assistant_text': {
      const who = block.status === 'error' ? 'Assistant, interrupted' : 'Assistant';
      return article(
        page,
        block,
        'assistant',
        who,
        prose(block.content) + attachments(block.attachments, block.id, page),
      );
    }
    case 'thinking':
      return details(
        page,
        block,
        'thinking',
        'Thinking',
        prose(block.content) + attachments(block.attachments, block.id, page),
      );
    case 'tool_use': {
      const contents = toolUseContents(block);
      const name = callHtml(call) + (call?.detail === undefined ? '' : ` <span>${escapeHtml(call.detail)}</span>`);
      const body = contents.map(contentHtml).join('');
      if (body === '') return bare(page, block, 'tool', name);
      return details(
        page,
        block,
        'tool',
        name,
        body,
        contents.every((content) => content.type !== 'code' || !isLong(content.text)),
      );
    }
    case 'tool_result':
      return resultHtml(block, call, page);
    case 'subagent': {
      const did = thread?.blocks.length ? `<div class="thread">${blocksHtml(thread.blocks, page)}</div>` : '';
      return subagentHtml(block, did, page);
    }
    case 'system':
    case 'error':
    case 'skill':
    case 'compaction': {
      if (block.data !== undefined) page.losses.add('data of a notice', 'the document shows its text', block.id);
      const text = noticeText(block);
      if (!isFolded(block)) return article(page, block, `notice ${block.type}`, noticeName(block), prose(text));
      const name = `${escapeHtml(noticeName(block))} <small>${lengthOf(text)}</small>`;
      return details(page, block, `notice ${block.type}`, name, prose(text));
    }
    case 'unknown':
      return details(page, block, 'unknown', `<code>${escapeHtml(block.sourceType)}</code>`, pre(pretty(block.data)));
    default:
      block satisfies never;
      return '';
  }
}

function callHtml(call: ToolUseDescription | undefined): string {
  if (!call) return 'Call';
  if (call.subject === undefined) return `<b>${escapeHtml(call.verb)}</b>`;
  const subject = escapeHtml(call.subject);
  const isSaid = call.kind === 'plan' || call.kind === 'question';
  return `<b>${escapeHtml(call.verb)}</b> ${isSaid ? subject : `<code>${subject}</code>`}`;
}

function contentHtml(content: ToolUseContent): string {
  switch (content.type) {
    case 'code':
      return pre(content.text.replace(/\n$/, ''));
    case 'diff':
      return diffHtml(content.text);
    case 'steps':
      return `<ul>${content.steps.map(({ text, status }) => `<li class="${STEPS[status] ?? 'open'}">${escapeHtml(text)}</li>`).join('')}</ul>`;
    case 'text':
      return prose(content.text);
    case 'data':
      return shortData(content.data) === undefined
        ? pre(pretty(content.data))
        : `<p class="detail">${escapeHtml(shortData(content.data) ?? '')}</p>`;
    default:
      return content satisfies never;
  }
}

const STEPS: Readonly<Record<string, string>> = { completed: 'done', in_progress: 'current' };

function resultHtml(block: ToolResultBlock, call: ToolUseDescription | undefined, page: Page): string {
  if (block.parts) page.losses.add('parts of a result', 'the document shows its text', block.id);
  const kind = block.isError ? 'result failed' : 'result';
  const name = `${block.isError ? 'Error' : 'Result'}${call ? ` of ${callHtml(call)}` : ''}`;
  if (block.output.trim() === '') return bare(page, block, kind, `${name}: no output`);
  const size = isLong(block.output) ? ` <small>${lengthOf(block.output)}</small>` : '';
  return details(page, block, kind, name + size, pre(withoutOuterLines(block.output)), size === '');
}

function subagentHtml(block: SubagentBlock, did: string, page: Page): string {
  const about = block.description === undefined ? '' : ` <span>${escapeHtml(block.description)}</span>`;
  const name = `<b>Subagent</b> <code>${escapeHtml(block.name ?? block.toolUseId)}</code>${about}`;
  const asked = block.input === undefined ? '' : `<div class="asked">${prose(block.input)}</div>`;
  const responded = block.output === undefined ? '' : `<div class="responded">${prose(block.output)}</div>`;
  return details(page, block, 'subagent', name, asked + did + responded);
}

function article(page: Page, block: ConversationBlock, kind: string, who: string, body: string): string {
  const header = `<header><b>${escapeHtml(who)}</b>${time(block, page)}</header>`;
  return `<article class="block ${kind}"${mark(block)}>${header}${body}</article>`;
}

function details(
  page: Page,
  block: ConversationBlock,
  kind: string,
  summary: string,
  body: string,
  open = false,
): string {
  const head = `<summary><span class="name">${summary}${status(block)}</span>${time(block, page)}</summary>`;
  return `<details class="block ${kind}"${mark(block)}${open ? ' open' : ''}>${head}${body}</details>`;
}

/** A line without anything to unfold. */
function bare(page: Page, block: ConversationBlock, kind: string, summary: string): string {
  return `<div class="block line ${kind}"${mark(block)}><span class="name">${summary}${status(block)}</span>${time(block, page)}</div>`;
}

function status(block: ConversationBlock): string {
  if (block.status === 'complete' || block.type === 'tool_result') return '';
  const word = block.status === 'error' ? 'failed' : block.type === 'tool_use' ? 'no result' : 'running';
  return ` <em>${word}</em>`;
}

function mark(block: ConversationBlock): string {
  return block.status === 'complete' ? '' : ` data-status="${block.status}"`;
}

function time(block: ConversationBlock, page: Page): string {
  const readable = readableTime(block.timestamp, page.day);
  return readable === '' ? '' : `<time datetime="${escapeHtml(block.timestamp)}">${readable}</time>`;
}

/** Kinds of images that hold no script. */
const PICTURES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

function attachments(items: readonly Attachment[] = [], id: string, page: Page): string {
  return items
    .map(({ mediaType, data, filename }) => {
      const name = escapeHtml(filename ?? mediaType);
      const media = data === undefined ? undefined : locateMedia({ mediaType, data });
      const content = media instanceof Unsendable || media?.kind !== 'data' ? '' : media.base64;
      if (PICTURES.has(mediaType) && /^[A-Za-z0-9+/=\s]+$/.test(content)) {
        return `<figure><img src="data:${mediaType};base64,${content.replace(/\s+/g, '')}" alt="${name}"></figure>`;
      }
      page.losses.add('content of an attachment', 'the document holds pictures, and names the rest', id);
      return `<p class="attachment">${name}</p>`;
    })
    .join('');
}
