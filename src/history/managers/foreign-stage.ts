import { HoldfastError } from '../../core/errors.ts';
import { type ConversationMessage, callsOf } from '../../core/log/messages.ts';
import { isBlank } from '../../formats/message-parts.ts';
import { check, repair } from '../coherence/coherence.ts';
import { MessageIndex } from '../coherence/message-index.ts';
import type { Curation, CurationContext, History } from '../history-manager.ts';
import { Origin } from '../origin.ts';
import { sanitizeMessage } from './sanitize-output.ts';
import type { Stage } from './stage.ts';
import { type View, wholeView } from './view.ts';
import { emit, messagesOf, type Repair } from './view-messages.ts';

/**
 * A manager that is not built in, as a stage. When the output is to be sent, all of it is checked against the manager's input and
 * repaired (D32): whatever the manager returns, the request is coherent, in order, holds nothing that was not recorded, and holds the
 * system messages, the newest group, the message that started the evaluation and pinned messages.
 */
export function foreignStage(history: History): Stage {
  const name = nameOf(history);
  return {
    name,
    readsAll: true,
    apply(view, { context, state, repairs }) {
      const before = state as ForeignState | undefined;
      const origin = repairs ? originOf(view, before?.origin) : undefined;
      const given = origin ? origin.messages.slice() : (emit(view, view.index.messages, false) ?? []);
      const curation = ask(history, given, withPrevious(context, before?.previous), name);
      const messages =
        origin && repairs ? repairOutput(view, curation.messages, { origin, repairs, context }) : curation.messages;
      const index = new MessageIndex();
      index.grow(messages);
      const { needs, notes } = curation;
      return {
        view: wholeView(index),
        state: { previous: curation, ...(origin && { origin: { index: view.index, origin } }) } satisfies ForeignState,
        ...(Array.isArray(needs) && { needs }),
        ...(Array.isArray(notes) && { notes }),
      };
    },
  };
}

/** The name that a manager has or, without one, the name of its class. */
function nameOf(history: History): string {
  if (history.name) return history.name;
  if (typeof history === 'function') return 'function';
  const { name } = history.constructor ?? {};
  return name && name !== 'Object' ? name : 'manager';
}

interface ForeignState {
  readonly previous: Curation;
  readonly origin?: { readonly index: MessageIndex; readonly origin: Origin };
}

function withPrevious({ previous: _, ...context }: CurationContext, previous: Curation | undefined): CurationContext {
  return previous ? { ...context, previous } : context;
}

function ask(
  history: History,
  messages: readonly ConversationMessage[],
  context: CurationContext,
  name: string,
): Curation {
  const output: unknown =
    typeof history === 'function' ? history(messages, context) : history.curate(messages, context);
  if (Array.isArray(output)) return { messages: output };
  if (typeof output === 'object' && output !== null && 'messages' in output && Array.isArray(output.messages)) {
    return output as Curation;
  }
  // A promise is not awaited; its rejection is ignored.
  for (const late of [output, (output as { readonly messages?: unknown } | null)?.messages]) {
    if (late instanceof Promise) late.catch(() => {});
  }
  const advice = 'return an array of messages or { messages }, and not a promise';
  throw new HoldfastError('INVALID_ARGUMENT', `the history manager ${name} returned no messages; ${advice}`);
}

/** The manager's input, as a record to check against. A conversation that only grew keeps its record. */
function originOf(view: View, before: ForeignState['origin']): Origin {
  const { index } = view;
  const plain =
    view.whole && !view.shape && index.arranged.size === 0 && index.flawed.size === 0 && index.starts[0] === 0;
  const known = plain && before?.index === index ? before.origin : undefined;
  const frozenBefore = known?.messages.length ?? 0;
  known?.grow(index.messages);
  const origin = known ?? new Origin(emit(view, index.messages, true) ?? []);
  for (let i = frozenBefore; i < origin.messages.length; i++) freeze(origin.messages[i]);
  return origin;
}

interface OutputRepair {
  readonly origin: Origin;
  readonly repairs: Repair[];
  readonly context: CurationContext;
}

function repairOutput(
  view: View,
  output: readonly unknown[],
  { origin, repairs, context }: OutputRepair,
): readonly ConversationMessage[] {
  const messages: ConversationMessage[] = [];
  const asked = origin.messages.findLastIndex((message) => message.role === 'user' && !message.synthetic);
  for (const one of output) {
    const message = sanitizeMessage(one, origin);
    if (!message) {
      repairs.push({ code: 'invented', repair: 'what is not a recorded message is left out' });
      continue;
    }
    const position = origin.positionOf(message);
    const recorded = origin.messages[position];
    if (recorded && position > asked && !sameThoughts(message, recorded)) {
      // Providers that sign thoughts want them back unchanged until the next user message.
      repairs.push({ code: 'reasoning-lost', messageId: message.id, repair: 'the message is sent with its reasoning' });
      messages.push(recorded);
    } else messages.push(message);
  }
  const lost = lostGroups(view, messages, context);
  for (const { group, code, why } of lost) {
    const [first] = messagesOf(view, group, true);
    repairs.push({ code, repair: `${why} is put back`, ...(first && { messageId: first.id }) });
  }
  const found = check(messages, origin);
  for (const { code, index, callId, repair } of found.violations) {
    const messageId = messages[index]?.id;
    repairs.push({
      ...{ code, repair },
      ...(messageId !== undefined && { messageId }),
      ...(callId !== undefined && { callId }),
    });
  }
  if (found.ok && lost.length === 0) return messages;
  // What is put back is put at the end: the repair moves everything to its place.
  const back = lost.flatMap(({ group }) => messagesOf(view, group, true));
  const ids = new Set(back.map(({ id }) => id));
  return repair([...messages.filter(({ id }) => !ids.has(id)), ...back], origin).messages;
}

function sameThoughts(message: ConversationMessage, recorded: ConversationMessage): boolean {
  if (message === recorded || recorded.role !== 'assistant') return true;
  const thoughts = ({ content }: ConversationMessage): string =>
    JSON.stringify(content.filter((part) => part.type === 'reasoning'));
  return thoughts(message) === thoughts(recorded);
}

interface Lost {
  readonly group: number;
  readonly code: Repair['code'];
  readonly why: string;
}

/** The groups that must be sent and are not in the output, or have no content there. */
function lostGroups(
  view: View,
  messages: readonly ConversationMessage[],
  { preserve }: CurationContext,
): readonly Lost[] {
  const { index } = view;
  const withContent = new Map(messages.filter((message) => !isBlank(message)).map((message) => [message.id, message]));
  const opening = messages.find((message) => message.role !== 'system');
  const pinned = new Set(preserve && index.fixedGroups(preserve));
  for (const group of index.fixedGroups(undefined)) pinned.delete(group);
  const lost: Lost[] = [];
  for (const group of index.fixedGroups(preserve)) {
    const newest = group === index.groups - 1;
    const [first] = messagesOf(view, group, true);
    const sent = first && withContent.get(first.id);
    const complete = sent && (!newest || callsOf(sent).length === callsOf(first).length);
    const isPinned = pinned.has(group);
    if (!first || (complete && !(isPinned && messagesOf(view, group, true).some(({ id }) => !withContent.has(id)))))
      continue;
    if (newest) lost.push({ group, code: 'newest-lost', why: 'the newest group' });
    else if (isPinned) lost.push({ group, code: 'pinned-lost', why: 'what is pinned' });
    else if (group === index.newestUser) lost.push({ group, code: 'newest-lost', why: 'the newest user message' });
    else if (group === index.beganUser) {
      lost.push({ group, code: 'opening-lost', why: 'the message that began the evaluation' });
    } else if (group === index.firstUser && opening?.role !== 'user') {
      lost.push({ group, code: 'opening-lost', why: 'the first user message, which a request starts with,' });
    }
  }
  return lost;
}

const frozen = new WeakSet<object>();

/** Freezes a recorded message before foreign code sees it (I5), once. */
function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || frozen.has(value)) return;
  frozen.add(value);
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
}
