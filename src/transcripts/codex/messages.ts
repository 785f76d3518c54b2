/**
 * Converts the main thread of a Codex session to messages: the model's history as Codex itself would send it, without instructions and
 * without reasoning, which only the account that it was encrypted for can send back.
 */
import { isCount } from '../../core/log/message-problem.ts';
import type { ConversationMessage } from '../../core/log/messages.ts';
import { asList, asName, asObject, asText, type Json, keep } from '../json-access.ts';
import { type ImportedMessagesOptions, MessageBuilder } from '../message-builder.ts';
import type { RawTranscript } from '../raw-transcript.ts';
import { readAgentMessage } from './blocks/asides.ts';
import { partsOf, reasoningTexts, textOfParts } from './items/content.ts';
import { agentOutcome, agentStates, isOfAgents, isOfCall, itemOfEvent, outcomeOf } from './items/items.ts';
import { contentKinds, Prompts, parseNotification, type UserMessage, type UserTextKind } from './items/prompts.ts';
import { isOutput, modelCall, partsOfOutput, waitedStates } from './items/tool-calls.ts';
import { sameTokens } from './items/usage.ts';
import { ResponseBuffer } from './response-buffer.ts';
import type { RolloutLine } from './rollouts/rollout-line.ts';
import { codexMainLines } from './transcript-events.ts';

/** Texts of Codex that belong to the conversation all the same: that it was interrupted, and commands that a person ran. */
const FOR_THE_MODEL: ReadonlySet<UserTextKind> = new Set(['prompt', 'turn_aborted', 'shell_command']);
const SUMMARIES: ReadonlySet<UserTextKind> = new Set(['summary', 'compaction_summary']);

/** The messages of a session. Every call has its result. */
export function codexMessages(raw: RawTranscript, options: ImportedMessagesOptions): readonly ConversationMessage[] {
  const lines = liveLines(codexMainLines(raw));
  const compacted = options.from === 'compaction' ? lines.findLastIndex(({ type }) => type === 'compacted') : -1;
  const hasItems = lines.some(({ type, payload }) => type === 'session_meta' && payload.history_mode === 'paginated');
  const history = new History(options, hasItems);
  const compaction = lines[compacted];
  if (compaction) history.startFrom(compaction, lines.slice(0, compacted));
  for (const line of lines.slice(compacted + 1)) history.add(line);
  return history.finish();
}

class History {
  readonly #builder: MessageBuilder;
  readonly #response: ResponseBuffer;
  readonly #prompts = new Prompts((message, kind) => this.#addUserMessage(message, kind));
  /** The agents whose result a call returned: a notification repeats it. */
  readonly #reported = new Set<string>();
  #keepsSummary = false;
  #total: Json | undefined;

  constructor(options: ImportedMessagesOptions, hasItems: boolean) {
    this.#builder = new MessageBuilder(options);
    this.#response = new ResponseBuffer(this.#builder, hasItems);
  }

  /** Starts with what the model sees after a compaction: the new history, or in old files the prompts and the summary. */
  startFrom(compaction: RolloutLine, before: readonly RolloutLine[]): void {
    const replacement = compaction.payload.replacement_history;
    this.#keepsSummary = true;
    if (Array.isArray(replacement)) {
      replacement.forEach((item, index) => {
        this.#addItem(asObject(item) ?? {}, `${compaction.name}/${index}`, compaction.timestamp);
      });
      this.#prompts.flush();
    } else {
      const isUsers = ({ type, payload }: RolloutLine): boolean =>
        (type === 'response_item' && payload.type === 'message' && payload.role === 'user') ||
        (type === 'event_msg' && payload.type === 'user_message');
      for (const line of before) if (isUsers(line)) this.add(line);
      this.#prompts.flush();
      const text = asText(compaction.payload.message) ?? '';
      this.#response.addUser(compaction.name, compaction.timestamp, [{ type: 'text', text }]);
    }
    this.#keepsSummary = false;
  }

  add(line: RolloutLine): void {
    const { payload, name, timestamp: at } = line;
    if (line.type === 'response_item') {
      if (line.metadata?.compaction_output !== true) this.#addItem(payload, name, at);
    } else if (line.type === 'token_usage_record') this.#response.end();
    else if (line.type === 'event_msg') this.#addEvent(payload, name, at);
  }

  finish(): readonly ConversationMessage[] {
    this.#prompts.flush();
    this.#response.close();
    return this.#builder.finish();
  }

  #addItem(item: Json, name: string, at: string): void {
    const id = asName(item.id) ?? name;
    const call = modelCall(item);
    if (item.type === 'message' && item.role === 'user') {
      this.#prompts.addMessage({ id, timestamp: at, parts: partsOf(item.content) }, contentKinds(item));
      return;
    }
    if (isOutput(item)) {
      const parts = partsOfOutput(item);
      for (const [agent, status] of waitedStates(textOfParts(parts))) this.#noteResult(agent, status);
      this.#response.addOutput(asName(item.call_id) ?? '', { id, createdAt: at, parts });
      return;
    }
    this.#prompts.flush();
    if (call) this.#response.addCall(id, at, { ...call, callId: call.callId ?? id });
    else if (item.type === 'message' && item.role === 'assistant') {
      for (const part of partsOf(item.content)) if (part.type === 'text') this.#response.addText(id, at, part.text);
    } else if (item.type === 'message') {
      if (textOfParts(partsOf(item.content)) !== '') this.#builder.leaveOut('instructions', id);
    } else if (item.type === 'reasoning') {
      const isShown = reasoningTexts(item).some((text) => text.trim() !== '');
      if (isShown) this.#response.begin(id);
      if (isShown || asName(item.encrypted_content) !== undefined) this.#builder.leaveOut('reasoning', id);
    } else if (item.type === 'web_search_call') {
      this.#response.addSearch(id, at, JSON.stringify(keep(asObject(item.action) ?? {})));
    } else if (item.type === 'agent_message') {
      const text = readAgentMessage(textOfParts(partsOf(item.content))).payload;
      const from = asName(item.author) === undefined ? '' : `Message from agent ${asName(item.author)}:\n`;
      if (text !== '') this.#response.addUser(id, at, [{ type: 'text', text: from + text }]);
    }
  }

  #addEvent(event: Json, name: string, at: string): void {
    const item = itemOfEvent(event);
    if (item && isOfCall(item)) {
      const outcome = outcomeOf(item);
      if (isOfAgents(item)) for (const [agent, status] of agentStates(item)) this.#noteResult(agent, status);
      if (outcome) this.#response.addItem(asName(item.id) ?? '', outcome, at);
    } else if (item?.type === 'UserMessage') {
      const parts = partsOf(item.content);
      this.#prompts.addEvent({ id: asName(item.id) ?? name, timestamp: at, parts });
    } else if (event.type === 'user_message') {
      const images = asList(event.images).map((url) => ({ image_url: url }));
      const parts = [...partsOf(event.message), ...partsOf(images)];
      this.#prompts.addEvent({ id: name, timestamp: at, parts });
    } else if (event.type === 'token_count') this.#addTotal(asObject(asObject(event.info)?.total_token_usage));
    else if (event.type === 'task_started' || event.type === 'task_complete') {
      this.#prompts.flush();
      this.#response.end();
    }
  }

  #addUserMessage({ id, timestamp, parts }: UserMessage, kind: UserTextKind): void {
    const notification = kind === 'subagent_notification' ? parseNotification(textOfParts(parts)) : undefined;
    const isNews = notification !== undefined && !this.#reported.has(notification.agent);
    if (isNews || FOR_THE_MODEL.has(kind) || (this.#keepsSummary && SUMMARIES.has(kind))) {
      this.#response.addUser(id, timestamp, parts);
    } else if (notification === undefined && !SUMMARIES.has(kind) && textOfParts(parts).trim() !== '') {
      this.#builder.leaveOut(kind === 'instructions' ? 'instructions' : 'notice', id);
    }
  }

  #noteResult(agent: string, status: unknown): void {
    if (agentOutcome(status)) this.#reported.add(agent);
  }

  #addTotal(total: Json | undefined): void {
    if (total === undefined || sameTokens(total, this.#total)) return;
    this.#total = total;
    this.#response.end();
  }
}

/**
 * The lines without those of turns that a person took back. The legacy layout keeps such lines and adds `thread_rolled_back` with the
 * number of turns; a turn starts with the message that `user_message` repeats.
 */
function liveLines(lines: readonly RolloutLine[]): readonly RolloutLine[] {
  if (!lines.some(isRollBack)) return lines;
  const live: RolloutLine[] = [];
  const starts: number[] = [];
  for (const line of lines) {
    if (isRollBack(line)) {
      const count = isCount(line.payload.num_turns) ? line.payload.num_turns : 0;
      const [start] = count === 0 ? [] : starts.splice(Math.max(0, starts.length - count));
      if (start !== undefined) live.length = start;
      continue;
    }
    if (line.kind === 'event_msg/user_message') {
      const isAfterMessage = live.at(-1)?.payload.role === 'user';
      starts.push(live.length - (isAfterMessage ? 1 : 0));
    }
    live.push(line);
  }
  return live;
}

function isRollBack({ kind }: RolloutLine): boolean {
  return kind === 'event_msg/thread_rolled_back';
}
