import { expect, test } from 'vitest';
import { reconcileSentence, waitSentence } from '../../studio/src/conversation/suspension.ts';

test.for([
  [
    'APPROVAL_REQUIRED',
    '"send_letter" needs approval: approveToolCall or denyToolCall, then resume',
    'Waits for approval: send_letter',
  ],
  [
    'APPROVAL_REQUIRED',
    '"pay" needs approval (its edited arguments cannot be used: euros: expected a number): approveToolCall or denyToolCall, then resume',
    'Waits for approval: pay; its edited arguments cannot be used: euros: expected a number',
  ],
  [
    'APPROVAL_REQUIRED',
    'calls wait for approval: approveToolCall or denyToolCall, then run again',
    'Waits for approval',
  ],
  [
    'TOOL_OUTCOME_UNKNOWN',
    '"charge_card" was started and may have happened, and reconcile could not find out: find out, then settleToolCall with its result or { rerun: true }, and resume',
    "The outcome of charge_card is unknown: the tool's own check could not find out",
  ],
  [
    'TOOL_OUTCOME_UNKNOWN',
    '"charge_card" was started and may have happened: find out, then settleToolCall with its result, and resume',
    'The outcome of charge_card is unknown',
  ],
  [
    'BUDGET_EXCEEDED',
    '80 of 30 tokens are used up; resume with a larger budget to continue',
    '80 of 30 tokens are used up',
  ],
  [
    'PROVIDER_FAILED',
    'the model did not respond after 3 tries: the provider is overloaded; resume to ask again',
    'The model did not respond after 3 tries: the provider is overloaded',
  ],
] as const)('%s: a suspension is a sentence without the names of functions', ([reason, message, sentence]) => {
  expect(waitSentence(reason, message)).toBe(sentence);
});

test.for([
  [{ status: 'failed', problem: 'the bank is closed' }, "The tool's own check failed: the bank is closed"],
  [{ status: 'undecided' }, "The tool's own check could not find out"],
  [{ status: 'not-called', problem: 'no such tool' }, "The tool's own check cannot be called: no such tool"],
] as const)('why reconcile did not find out is said by its status: %j', ([reconcile, sentence]) => {
  expect(reconcileSentence(reconcile)).toBe(sentence);
});
