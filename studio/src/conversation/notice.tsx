import type { NoticeBlock } from 'holdfast/conversation';
import { memo } from 'react';
import { Icon, type IconName } from '../ui/icon.tsx';
import { Disclosure } from './disclosure.tsx';
import { JsonView } from './json-view.tsx';
import { PlainText } from './plain-text.tsx';

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
  const { type, subtype = '', content, status, data } = block;
  const isError = type === 'error' || status === 'error';
  const isWaiting = status === 'pending';
  const colour = isError ? 'text-fails' : isWaiting ? 'text-waits' : 'text-muted';
  const [first = ''] = content.trim().split('\n', 1);
  // Agents write some notices for the model, in tags: what it is about says more.
  const line = first.startsWith('<') && subtype !== '' ? subtype.replaceAll(/[_-]/g, ' ') : first;
  const isShort = line.length <= MAX_LINE && content.trim() === line && (data === undefined || OWN_DATA.has(subtype));
  const heading = (
    <>
      <Icon name={isError ? 'cross' : (ICONS[subtype] ?? 'info')} className={colour} />
      <span className={`min-w-0 ${isShort ? 'break-words' : 'truncate'} ${colour}`}>
        {type === 'skill' && 'Skill: '}
        {line.slice(0, MAX_LINE * 2)}
      </span>
    </>
  );
  if (isShort) return <div className="flex items-start gap-2">{heading}</div>;
  return (
    <Disclosure id={id} summary={heading}>
      {() => (
        <div className="pl-6">
          {content.trim() !== line && <PlainText id={id} text={content} />}
          {data !== undefined && <JsonView id={`${id}:data`} data={data} />}
        </div>
      )}
    </Disclosure>
  );
});

/** Notices whose words say what their data says. */
const OWN_DATA = new Set(['suspended', 'superseded', 'forked', 'cancel-requested']);
