import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactNode, RefObject } from 'react';

/** A window over the page that holds the focus until it is closed. */
export function Dialog(props: {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Its name for screen readers; shown unless `isTitleHidden`. */
  readonly title: string;
  readonly isTitleHidden?: boolean;
  readonly initialFocus?: RefObject<HTMLElement | null>;
  readonly children: ReactNode;
}) {
  const { isOpen, onClose, title, isTitleHidden = false, initialFocus, children } = props;
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => open || onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-30 bg-backdrop" />
        <Base.Popup
          {...(initialFocus && { initialFocus })}
          className="fixed z-30 top-[12vh] left-1/2 flex max-h-[70vh] w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 flex-col overflow-hidden rounded-lg border border-strong-line bg-ground shadow-2xl outline-none"
        >
          <Base.Title className={isTitleHidden ? 'sr-only' : 'border-b border-line px-4 py-2.5 font-medium'}>
            {title}
          </Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
