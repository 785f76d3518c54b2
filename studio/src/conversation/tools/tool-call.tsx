import {
  describeToolUse,
  type ToolResultBlock,
  type ToolUseBlock,
  type ToolUseKind,
  toolUseContents,
} from 'holdfast/conversation';
import { memo } from 'react';
import type { ToolUseContent } from '../../../../src/conversation/tool-use-content.ts';
import { count, duration } from '../../ui/format.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { Disclosure } from '../disclosure.tsx';
import { useIsStatic } from '../rows/open-states.tsx';
import type { Row } from '../rows/rows.ts';
import { Steps } from '../steps.tsx';
import { Code } from '../text/code.tsx';
import { Markdown } from '../text/markdown.tsx';
import { DiffView } from './diff-view.tsx';
import { JsonView } from './json-view.tsx';
import { ToolOutput } from './tool-output.tsx';
import { ToolProgress } from './tool-progress.tsx';

const ICONS: Readonly<Record<ToolUseKind, IconName>> = {
  command: 'terminal',
  read: 'file',
  write: 'edit',
  edit: 'edit',
  search: 'search',
  list: 'sessions',
  fetch: 'globe',
  'web-search': 'globe',
  subagent: 'agent',
  plan: 'plan',
  question: 'question',
  other: 'tool',
};

/** A call with its result: a heading that says what was done, and what it contained. */
export const ToolCall = memo(
  (props: {
    readonly id: string;
    readonly block: ToolUseBlock;
    readonly result: ToolResultBlock | undefined;
    /** What it waits for, if a person has to decide. */
    readonly waitsFor: Row['waitsFor'];
  }) => {
    const { id, block, result, waitsFor } = props;
    const { kind, verb, subject, detail } = describeToolUse(block);
    const isRunning = block.status === 'pending';
    const hasFailed = result?.isError || block.status === 'error';
    const isShown = kind === 'edit' || kind === 'plan' || (isRunning && block.progress !== undefined) || hasFailed;
    return (
      <Disclosure
        id={id}
        isOpenByDefault={isShown}
        summary={
          <>
            <Icon
              name={ICONS[kind]}
              className={hasFailed ? 'text-fails' : waitsFor ? 'text-waits' : isRunning ? 'text-accent' : 'text-muted'}
            />
            <span className="shrink-0 font-medium">{verb}</span>
            {subject !== undefined && <Subject isCode={kind !== 'plan' && kind !== 'question'}>{subject}</Subject>}
            {detail !== undefined && <span className="min-w-0 truncate text-muted max-md:hidden">{detail}</span>}
            <Outcome block={block} result={result} waitsFor={waitsFor} />
          </>
        }
      >
        {() => (
          <div className="pl-6">
            {toolUseContents(block).map((content, index) => (
              <Content key={index} id={`${id}:${index}`} content={content} />
            ))}
            {block.progress && <ToolProgress id={id} progress={block.progress} isLive={isRunning && !waitsFor} />}
            {result && (kind !== 'edit' || hasFailed) && kind !== 'plan' && (
              <ToolOutput id={`${id}:result`} result={result} kind={kind} language={languageOf(subject)} />
            )}
          </div>
        )}
      </Disclosure>
    );
  },
);

/** What it was done to: a command, a path, an address; of a plan, how far it is. */
function Subject({ isCode, children }: { readonly isCode: boolean; readonly children: string }) {
  const opened = 'in-[details[open]>summary]:wrap-anywhere in-[details[open]>summary]:whitespace-pre-wrap';
  if (!isCode) return <span className={`min-w-0 truncate text-muted ${opened}`}>{children}</span>;
  return <code className={`min-w-0 truncate font-mono text-[0.75rem] ${opened}`}>{children}</code>;
}

/** How it ended, in a few words at the end of the heading. */
function Outcome(props: {
  readonly block: ToolUseBlock;
  readonly result: ToolResultBlock | undefined;
  readonly waitsFor: Row['waitsFor'];
}) {
  const { block, result, waitsFor } = props;
  const isStatic = useIsStatic();
  const tookMs = result ? Date.parse(result.timestamp) - Date.parse(block.timestamp) : 0;
  const time = tookMs >= 1000 ? duration(tookMs) : '';
  const percent = block.progress?.percent;
  if (isStatic && block.status === 'pending') return <Words className="text-muted">no result</Words>;
  if (waitsFor) return <Words className="text-waits">{WAITS[waitsFor]}</Words>;
  if (block.status === 'pending') {
    return <Words className="text-accent">{percent === undefined ? 'running' : `${Math.round(percent)} %`}</Words>;
  }
  if (!result) return <Words className="text-fails">{block.status === 'error' ? 'interrupted' : ''}</Words>;
  if (result.isError) return <Words className="text-fails">failed{time && ` after ${time}`}</Words>;
  const lines = result.output.trim() === '' ? 0 : lineCount(result.output.trimEnd());
  return <Words className="text-muted">{[lines > 1 && count(lines, 'line'), time].filter(Boolean).join(' · ')}</Words>;
}

const WAITS = { approval: 'Waits for approval', outcome: 'Outcome unknown' } as const;

function Words({ className, children }: { readonly className: string; readonly children: string | readonly string[] }) {
  return <span className={`ml-auto shrink-0 pl-2 text-xs tabular-nums ${className}`}>{children}</span>;
}

function Content({ id, content }: { readonly id: string; readonly content: ToolUseContent }) {
  switch (content.type) {
    case 'code':
      return <Code id={id} text={content.text} language={content.language} />;
    case 'diff':
      return <DiffView id={id} text={content.text} />;
    case 'steps':
      return <Steps steps={content.steps} />;
    case 'text':
      return <Markdown id={id} text={content.text} />;
    case 'data':
      return <JsonView id={id} data={content.data} />;
    default:
      return content satisfies never;
  }
}

function lineCount(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** The extension of a path is the language of its text. */
function languageOf(subject = ''): string {
  return /\.(\w{1,10})(?::\d|\s|$)/.exec(subject)?.[1] ?? '';
}
