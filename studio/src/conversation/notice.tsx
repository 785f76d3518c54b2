import { describeNotice } from 'holdfast/conversation';
import { memo } from 'react';
import type { NoticeBlock } from '../../../src/conversation/blocks.ts';
import { Icon, type IconName } from '../ui/icon.tsx';
import { Disclosure } from './disclosure.tsx';
import { waitSentence } from './suspension.ts';
import { PlainText } from './text/plain-text.tsx';
import { JsonView } from './tools/json-view.tsx';

const MAX_LINE = 160;

const ICONS: Readonly<Record<string, IconName>> = {
  suspended: 'clock',
  approved: 'check',
  denied: 'cross',
  settled: 'check',
  forked: 'fold',
  interrupted: 'stop',
};

/** Something that happened around the conversation, in one line; a long one opens. */
export const Notice = memo(({ id, block }: { readonly id: string; readonly block: NoticeBlock }) => {
  const { type, subtype = '', status, data, machinery } = block;
  const { name, text } = wordsOf(block);
  const isError = type === 'error' || status === 'error';
  const isWaiting = status === 'pending';
  const colour = isError ? 'text-fails' : isWaiting ? 'text-waits' : 'text-muted';
  const [first = ''] = text.split('\n', 1);
  // Some notices are written for the model: what they are about says more.
  const line = machinery || first === '' || first.startsWith('<') ? name : first;
  const isShort =
    line.length <= MAX_LINE && (text === line || text === '') && (data === undefined || OWN_DATA.has(subtype));
  const heading = (
    <>
      <Icon name={isError ? 'cross' : (ICONS[subtype] ?? 'info')} className={colour} />
      <span className={`min-w-0 ${isShort ? 'break-words' : 'truncate'} ${colour}`}>
        {type === 'skill' && line !== name && 'Skill: '}
        {line.slice(0, MAX_LINE * 2)}
      </span>
    </>
  );
  if (isShort) return <div className="flex items-start gap-2">{heading}</div>;
  return (
    <Disclosure id={id} summary={heading}>
      {() => (
        <div className="pl-6">
          {text !== line && text !== '' && <PlainText id={id} text={text} />}
          {data !== undefined && <JsonView id={`${id}:data`} data={data} />}
        </div>
      )}
    </Disclosure>
  );
});

function wordsOf(block: NoticeBlock): ReturnType<typeof describeNotice> {
  const described = describeNotice(block);
  if (block.subtype !== 'suspended') return described;
  const { reason } = (block.data ?? {}) as { readonly reason?: unknown };
  return { ...described, text: waitSentence(String(reason), described.text) };
}

/** Notices whose words say what their data says. */
const OWN_DATA = new Set(['suspended', 'superseded', 'forked', 'cancel-requested']);
