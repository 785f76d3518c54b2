import { useRef } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

/** Asks before something that cannot be undone. */
export function Confirm(props: {
  readonly isOpen: boolean;
  readonly title: string;
  readonly explanation: string;
  readonly action: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) {
  const { isOpen, title, explanation, action, onConfirm, onClose } = props;
  const cancel = useRef<HTMLButtonElement>(null);
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={title} initialFocus={cancel}>
      <p className="px-4 py-3 text-muted">{explanation}</p>
      <div className="flex justify-end gap-2 px-4 pb-3">
        <Button ref={cancel} kind="quiet" onClick={onClose}>
          Cancel
        </Button>
        <Button
          kind="danger"
          onClick={() => {
            onConfirm();
            onClose();
          }}
        >
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
