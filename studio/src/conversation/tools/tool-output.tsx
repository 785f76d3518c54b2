import type { ToolResultBlock, ToolUseKind } from 'holdfast/conversation';
import { Attachments, attachmentsIn } from '../attachments.tsx';
import { Code } from '../text/code.tsx';
import { Markdown } from '../text/markdown.tsx';
import { PlainText } from '../text/plain-text.tsx';
import { JsonView } from './json-view.tsx';
import { Terminal } from './terminal.tsx';

/** What a call returned, as its kind is read best. */
export function ToolOutput(props: {
  readonly id: string;
  readonly result: Pick<ToolResultBlock, 'output' | 'parts' | 'isError'>;
  readonly kind: ToolUseKind;
  /** The extension of the file that was read. */
  readonly language?: string;
}) {
  const { id, result, kind, language = '' } = props;
  const attachments = attachmentsIn(result.parts);
  return (
    <>
      {result.output.trim() !== '' && <Text id={id} text={result.output} kind={kind} language={language} />}
      {attachments.length > 0 && <Attachments attachments={attachments} />}
      {result.output.trim() === '' && attachments.length === 0 && <p className="py-1 text-xs text-muted">No output</p>}
    </>
  );
}

function Text(props: {
  readonly id: string;
  readonly text: string;
  readonly kind: ToolUseKind;
  readonly language: string;
}) {
  const { id, text, kind, language } = props;
  if (kind === 'command') return <Terminal id={id} text={text} />;
  if (kind === 'read') {
    const file = numberedFile(text);
    return file ? (
      <Code id={id} text={file.text} language={language} firstLine={file.firstLine} />
    ) : (
      <PlainText id={id} text={text} />
    );
  }
  if (kind === 'subagent' || kind === 'web-search') return <Markdown id={id} text={text} />;
  const data = kind === 'other' ? parsed(text) : undefined;
  return data === undefined ? <Terminal id={id} text={text} /> : <JsonView id={id} data={data} />;
}

/** A file with the line numbers that Claude Code (`   12→…`) and OpenCode (`00012| …`) put before each line. */
function numberedFile(text: string): { readonly text: string; readonly firstLine: number } | undefined {
  const body = text.replace(/^<file>\n?/, '').replace(/\n?<\/file>[\s\S]*$/, '');
  const pattern = /^\s*(\d+)(?:→|\t|\| ?)/;
  const [, first] = pattern.exec(body) ?? [];
  if (first === undefined) return undefined;
  const lines = body.split('\n');
  const end = lines.findIndex((line) => !pattern.test(line));
  const numbered = end < 0 ? lines : lines.slice(0, end);
  return { text: numbered.map((line) => line.replace(pattern, '')).join('\n'), firstLine: Number(first) };
}

/** JSON objects and lists; a text that merely is a number stays text. */
function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text) || text.length > 500_000) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
