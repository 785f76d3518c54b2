import type { ReactNode } from 'react';
import { Icon } from '../ui/icon.tsx';
import { useOpen } from './rows/open-states.tsx';

/** A heading that opens what is below it. The content of a closed one is not rendered, except in a static file. */
export function Disclosure(props: {
  /** Names it in the choices of the person. */
  readonly id: string;
  readonly isOpenByDefault?: boolean;
  readonly summary: ReactNode;
  readonly className?: string;
  readonly children: () => ReactNode;
}) {
  const { id, isOpenByDefault = false, summary, className = '', children } = props;
  const { isOpen, isStatic, setOpen } = useOpen(id, isOpenByDefault);
  return (
    <details
      className={className}
      open={isOpen}
      onToggle={(event) => {
        const { open } = event.currentTarget;
        if (open !== isOpen) setOpen(open);
      }}
    >
      <summary className="-mx-1 flex min-w-0 items-center gap-2 rounded px-1 hover:bg-panel">
        {summary}
        <Icon name="chevron" className="size-3.5! text-muted in-[details[open]>summary]:rotate-90" />
      </summary>
      {(isOpen || isStatic) && children()}
    </details>
  );
}
