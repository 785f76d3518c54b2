import { type SessionConversationState, usageTotals } from 'holdfast/conversation';
import { useDeferredValue, useMemo } from 'react';
import { compact, count, money } from '../ui/format.ts';

/** The tokens and the money that a conversation has cost. */
export function SessionTotals({ state }: { readonly state: SessionConversationState }) {
  const settled = useDeferredValue(state);
  const { usage, byModel, messages } = useMemo(() => usageTotals(settled), [settled]);
  if (messages === 0) return null;
  const tokens = usage.inputTokens + usage.outputTokens;
  const cached = usage.cachedInputTokens ? `, ${compact(usage.cachedInputTokens)} of them cached` : '';
  return (
    <span
      className="text-muted tabular-nums max-lg:hidden"
      title={`${count(usage.inputTokens, 'input token')}${cached}; ${count(usage.outputTokens, 'output token')}`}
    >
      {[
        [...byModel.keys()].slice(0, 2).join(', '),
        `${compact(tokens)} tokens`,
        usage.costUsd !== undefined && money(usage.costUsd),
      ]
        .filter(Boolean)
        .join(' · ')}
    </span>
  );
}
