import type { NoticeBlock } from '../../../src/conversation/blocks.ts';
import { count } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { Disclosure } from './disclosure.tsx';
import { useOpen } from './rows/open-states.tsx';
import type { Row } from './rows/rows.ts';
import { Markdown } from './text/markdown.tsx';

/** Where the agent replaced what was before by a summary. The blocks are still here: a person can hide and show them. */
export function Compaction({ row, block }: { readonly row: Row; readonly block: NoticeBlock }) {
  const { folds = { count: 0, isFolded: false } } = row;
  const { isStatic, setOpen } = useOpen(foldKey(row.key), true);
  return (
    <div className="border-y border-line py-1.5">
      <div className="flex items-center gap-2 text-muted">
        <Icon name="fold" />
        <span className="min-w-0 flex-1">
          The context was compacted here
          {folds.count > 0 && `: a summary replaced ${count(folds.count, 'block')} for the model`}
        </span>
        {folds.count > 0 && !isStatic && (
          <button
            type="button"
            className="shrink-0 text-accent hover:underline"
            onClick={() => setOpen(folds.isFolded)}
          >
            {folds.isFolded ? 'Show what was folded' : 'Fold it here, too'}
          </button>
        )}
      </div>
      {block.content.trim() !== '' && (
        <Disclosure id={row.key} className="pl-6" summary={<span className="text-muted">Summary</span>}>
          {() => <Markdown id={row.key} text={block.content} />}
        </Disclosure>
      )}
    </div>
  );
}

export function foldKey(key: string): string {
  return `unfolded:${key}`;
}
