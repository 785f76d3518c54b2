/** What a document does not show, although the conversation has it. */
import { type Attachment, describeToolUse, type ToolResultBlock } from 'holdfast/conversation';
import type { DocumentHead } from '../../../src/transcripts/export/export-with.ts';
import { attachmentsIn } from '../conversation/attachments.tsx';
import type { Row } from '../conversation/rows/rows.ts';
import { imageOf } from '../conversation/text/safe-url.ts';

type OnLoss = DocumentHead['onLoss'];

export function reportLosses(rows: readonly Row[], onLoss: OnLoss): void {
  for (const { block, result } of rows) {
    if ('attachments' in block) attachments(block.attachments, block.id, onLoss);
    if (block.type === 'tool_result') parts(block, onLoss);
    if (block.type === 'compaction' && block.data !== undefined) {
      onLoss({ what: 'data of a notice', why: 'the document shows its text', id: block.id });
    }
    if (!result) continue;
    parts(result, onLoss);
    const isHidden = block.type === 'tool_use' && !result.isError && /^(edit|plan)$/.test(describeToolUse(block).kind);
    if (isHidden && result.output.trim() !== '') {
      onLoss({ what: 'result of an edit or a plan', why: 'the document shows the change itself', id: result.id });
    }
  }
}

function parts(result: ToolResultBlock, onLoss: OnLoss): void {
  const files = attachmentsIn(result.parts);
  attachments(files, result.id, onLoss);
  const others = (result.parts ?? []).filter((part) => (part as { type?: unknown } | null)?.type !== 'text');
  if (others.length > files.length) {
    onLoss({ what: 'parts of a result', why: 'the document shows its text and its pictures', id: result.id });
  }
}

function attachments(items: readonly Attachment[] | undefined, id: string, onLoss: OnLoss): void {
  for (const { mediaType, data } of items ?? []) {
    if (imageOf(mediaType, data) !== undefined) continue;
    onLoss({
      what: 'content of an attachment',
      why: 'the document holds pictures, and names the rest',
      id,
    });
  }
}
