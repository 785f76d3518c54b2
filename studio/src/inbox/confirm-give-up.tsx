import { Confirm } from '../ui/confirm.tsx';

/** Asks before an evaluation is given up. */
export function ConfirmGiveUp(props: {
  readonly isOpen: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) {
  return (
    <Confirm
      {...props}
      title="Give it up?"
      explanation="The work on the last message ends here and cannot be continued. What was said stays in the log, and the model does not see it again. Queued messages run next."
      action="Give it up"
    />
  );
}
