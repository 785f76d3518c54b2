/**
 * A conversation as one HTML file: no script, nothing loaded from anywhere, and a policy that enforces it. The
 * conversation's text is escaped, never markup.
 */
import type { Attachment, ConversationBlock } from '../../conversation/blocks.ts';
import { usageTotals } from '../../conversation/selectors.ts';
import type { SessionConversationState } from '../../conversation/state.ts';
import type { LossReport } from '../../formats/losses.ts';
import { locateMedia, Unsendable } from '../../formats/media.ts';
import { STYLE } from './html-style.ts';
import { pretty, readableTime, type ShownBlock, type Thread, threadView } from './thread-view.ts';

/** The whole conversation as a document that can be opened anywhere. */
export function html(state: SessionConversationState, title: string, losses: LossReport): string {
  const view = threadView(state);
  const detached = view.detached.map(
    (thread) =>
      `<section class="thread"><h2>${escapeHtml(nameOf(thread))}</h2>${blocksHtml(thread.blocks, losses)}</section>`,
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
${blocksHtml(view.blocks, losses)}
${detached.join('\n')}
</main>
${footer(state)}
</body>
</html>
`;
}

/** Text as HTML shows it, whatever is in it. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
    .replaceAll('\0', '\ufffd');
}

function blocksHtml(blocks: readonly ShownBlock[], losses: LossReport): string {
  return blocks.map((shown) => blockHtml(shown, losses)).join('\n');
}

function blockHtml({ block, thread }: ShownBlock, losses: LossReport): string {
  switch (block.type) {
    case 'user_message':
      return article(block, 'user', 'User', prose(block.content) + attachments(block.attachments, block.id, losses));
    case 'assistant_text': {
      const who = block.status === 'error' ? 'Assistant, interrupted' : 'Assistant';
      return article(block, 'assistant', who, prose(block.content) + attachments(block.attachments, block.id, losses));
    }
    case 'thinking':
      return details(block, 'thinking', 'Thinking', prose(block.content));
    case 'tool_use': {
      const input = block.input === undefined ? (block.inputText ?? '') : pretty(block.input);
      return details(block, 'tool', `<code>${escapeHtml(block.toolName)}</code>`, pre(input), true);
    }
    case 'tool_result': {
      if (block.parts) losses.add('parts of a result', 'the document shows its text', block.id);
      const name = block.isError ? 'Error' : 'Result';
      return details(
        block,
        block.isError ? 'result failed' : 'result',
        name,
        pre(block.output),
        block.output.length < 600,
      );
    }
    case 'subagent': {
      const about = block.description === undefined ? '' : ` <span>${escapeHtml(block.description)}</span>`;
      const name = `Subagent <code>${escapeHtml(block.name ?? block.toolUseId)}</code>${about}`;
      const asked = block.input === undefined ? '' : `<div class="asked">${prose(block.input)}</div>`;
      const did = thread?.blocks.length ? `<div class="thread">${blocksHtml(thread.blocks, losses)}</div>` : '';
      const answered = block.output === undefined ? '' : `<div class="answered">${prose(block.output)}</div>`;
      return details(block, 'subagent', name, asked + did + answered);
    }
    case 'system':
    case 'error':
    case 'skill':
    case 'compaction': {
      if (block.data !== undefined) losses.add('data of a notice', 'the document shows its text', block.id);
      const name = block.subtype === undefined ? block.type : `${block.type}: ${block.subtype}`;
      if (block.content.length > 300)
        return details(block, `notice ${block.type}`, escapeHtml(name), prose(block.content));
      return article(block, `notice ${block.type}`, name, prose(block.content));
    }
    case 'unknown':
      return details(block, 'unknown', `<code>${escapeHtml(block.sourceType)}</code>`, pre(pretty(block.data)));
    default:
      block satisfies never;
      return '';
  }
}

function article(block: ConversationBlock, kind: string, who: string, body: string): string {
  const header = `<header><b>${escapeHtml(who)}</b>${time(block)}</header>`;
  return `<article class="block ${kind}"${mark(block)}>${header}${body}</article>`;
}

function details(block: ConversationBlock, kind: string, summary: string, body: string, open = false): string {
  const state = block.status === 'complete' ? '' : ` <em>${block.status}</em>`;
  const head = `<summary><span class="name">${summary}</span>${state}${time(block)}</summary>`;
  return `<details class="block ${kind}"${mark(block)}${open ? ' open' : ''}>${head}${body}</details>`;
}

function mark(block: ConversationBlock): string {
  return block.status === 'complete' ? '' : ` data-status="${block.status}"`;
}

function time(block: ConversationBlock): string {
  const readable = readableTime(block.timestamp);
  return readable === '' ? '' : `<time datetime="${escapeHtml(block.timestamp)}">${readable}</time>`;
}

/** Text with its code set off; everything else stands as it was written. */
function prose(text: string): string {
  if (text === '') return '';
  const parts = text.split(/^(`{3,}|~{3,}(?!~))([^\n`]*)\n([\s\S]*?)(?:^\1[^\S\n]*$|$(?![\s\S]))/m);
  let result = '';
  for (let i = 0; i < parts.length; i += 4) {
    const said = withoutOuterLines(parts[i] ?? '');
    if (said !== '') result += `<div class="prose">${inlineCode(said)}</div>`;
    const code = parts[i + 3];
    if (code !== undefined) result += pre(code.replace(/\n$/, ''));
  }
  return result;
}

/** Without the empty lines around it. By hand: a pattern would look at every run of them again and again. */
function withoutOuterLines(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && text[from] === '\n') from++;
  while (to > from && text[to - 1] === '\n') to--;
  return text.slice(from, to);
}

function inlineCode(text: string): string {
  const pieces = text.split(/`([^`\n]+)`/);
  return pieces.map((piece, i) => (i % 2 === 1 ? `<code>${escapeHtml(piece)}</code>` : escapeHtml(piece))).join('');
}

function pre(text: string): string {
  return `<pre><code>${escapeHtml(text)}</code></pre>`;
}

/** Kinds of images that hold no script. */
const PICTURES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);

function attachments(items: readonly Attachment[] = [], id: string, losses: LossReport): string {
  return items
    .map(({ mediaType, data, filename }) => {
      const name = escapeHtml(filename ?? mediaType);
      const media = data === undefined ? undefined : locateMedia({ mediaType, data });
      const content = media instanceof Unsendable || media?.kind !== 'data' ? '' : media.base64;
      if (PICTURES.has(mediaType) && /^[A-Za-z0-9+/=\s]+$/.test(content)) {
        return `<figure><img src="data:${mediaType};base64,${content.replace(/\s+/g, '')}" alt="${name}"></figure>`;
      }
      losses.add('content of an attachment', 'the document holds pictures, and names the rest', id);
      return `<p class="attachment">${name}</p>`;
    })
    .join('');
}

function nameOf({ subagent }: Thread): string {
  return `Subagent ${subagent.name ?? subagent.toolUseId}`;
}

function footer(state: SessionConversationState): string {
  const { usage, messages } = usageTotals(state);
  if (messages === 0) return '';
  const cost = usage.costUsd === undefined ? '' : ` · $${usage.costUsd.toFixed(4)}`;
  const count = (n: number): string => String(n).replace(/\B(?=(?:\d{3})+$)/g, ',');
  return `<footer>${count(messages)} ${messages === 1 ? 'answer' : 'answers'} · ${count(usage.inputTokens)} tokens in · ${count(usage.outputTokens)} out${cost}</footer>`;
}
