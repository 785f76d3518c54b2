import type { ReactNode } from 'react';
import type { InboxItem } from '../../../src/server/inbox-items.ts';
import type { Attempt } from '../ui/use-attempt.ts';
import { ApprovalForm } from './approval-form.tsx';
import { FailedForm, GivenUpForm } from './failed-forms.tsx';
import { LimitForm, ProviderForm } from './resume-form.tsx';
import { SettleForm } from './settle-form.tsx';

/** A form for each thing that waits in one session. */
export function WaitingForms(props: {
  readonly items: readonly InboxItem[];
  readonly attempt: Attempt;
  readonly onDone: () => void;
}) {
  const { items, ...rest } = props;
  return items.map((item) => <Form key={keyOf(item)} item={item} {...rest} />);
}

function Form({
  item,
  ...rest
}: {
  readonly item: InboxItem;
  readonly attempt: Attempt;
  readonly onDone: () => void;
}): ReactNode {
  switch (item.kind) {
    case 'approval':
      return <ApprovalForm item={item} {...rest} />;
    case 'outcome':
      return <SettleForm item={item} {...rest} />;
    case 'limit':
      return <LimitForm item={item} {...rest} />;
    case 'provider':
      return <ProviderForm item={item} {...rest} />;
    case 'failed':
      return <FailedForm item={item} {...rest} />;
    case 'stopped':
      return <GivenUpForm item={item} {...rest} />;
    default:
      return item satisfies never;
  }
}

/** The same while the same thing waits, so that what a person typed stays. */
function keyOf(item: InboxItem): string {
  if (!('call' in item)) return item.kind;
  const { evaluationId, turn, callId, attempt = 0 } = item.call;
  return `${item.kind}/${evaluationId}/${turn}/${callId}/${attempt}`;
}
