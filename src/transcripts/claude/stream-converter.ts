/** Converts the Claude Agent SDK's stream to events, message by message. */
import { MAIN_CONVERSATION } from '../../conversation/events.ts';
import { BlockWriter, type EndReason, spawnFields } from '../block-writer.ts';
import { asList, asMilliseconds, asName, asObject, asText, type Json } from '../json-access.ts';
import { type StreamConverter, type StreamConverterOptions, streamConverter } from '../stream-converter.ts';
import { contentText } from './content.ts';
import { ClaudeConversation } from './conversation.ts';
import { type ClaudeEntry, entryOfMessage } from './entry.ts';
import { PartialMessages } from './partial-messages.ts';
import { classifyUserText } from './user-text.ts';

/** Signals about the run, not part of the conversation: counted, not shown. */
const SIGNALS: ReadonlySet<string> = new Set(
  `tool_progress command_lifecycle auth_status rate_limit_event tool_use_summary prompt_suggestion keep_alive`.split(
    /\s+/,
  ),
);

/** Creates a converter for the messages that `query()` of the Claude Agent SDK yields. */
export function claudeStreamConverter(options: StreamConverterOptions = {}): StreamConverter {
  const writer = new BlockWriter();
  const { diagnostics } = writer;
  const partials = new PartialMessages(writer);
  const conversation = new ClaudeConversation(writer, partials);
  const seen = new Set<string>();
  let lastTimestamp = '';
  /** How the newest run ended; undefined while one is running. */
  let ended: EndReason | undefined;
  let apiErrorShown = false;
  /** The user interrupted the newest run. */
  let interrupted = false;
  const now = options.now ?? ((): string => lastTimestamp);

  const addEntry = (entry: ClaudeEntry): void => {
    if (entry.uuid !== undefined) {
      if (seen.has(entry.uuid)) {
        diagnostics.problem('repeated-line', entry.uuid); // a resumed run repeats messages
        return;
      }
      seen.add(entry.uuid);
    }
    if (entry.timestamp !== '') lastTimestamp = entry.timestamp;
    if (entry.isApiError) apiErrorShown = true;
    if (isInterruption(entry)) interrupted = true;
    conversation.add(entry.timestamp === '' ? { ...entry, timestamp: now() } : entry);
  };

  const addResult = (message: Json): void => {
    const isError = message.is_error === true || message.subtype !== 'success';
    const given = asList(message.errors).flatMap((error) => asText(error) ?? []);
    const reported = given.length > 0 ? given : [asText(message.result) ?? ''];
    const errors = reported.filter((error) => error.trim() !== '' && !isDiagnostic(error));
    const isStopped =
      isError &&
      (interrupted || (reported.some(isDiagnostic) && errors.every((error) => error.includes('Request was aborted'))));
    if (isError && !isStopped && !apiErrorShown) {
      writer.upsert({
        id: `error:${asName(message.uuid) ?? asName(message.session_id) ?? ''}`,
        conversationId: MAIN_CONVERSATION,
        timestamp: now(),
        status: 'error',
        type: 'error',
        subtype: asText(message.subtype) ?? '',
        content: errors.length > 0 ? errors.join('\n') : (asText(message.subtype) ?? ''),
      });
    }
    apiErrorShown = false;
    interrupted = false;
    ended = isStopped ? 'interrupted' : isError ? 'failed' : 'completed';
    writer.settle(MAIN_CONVERSATION, ended, now());
  };

  const startTask = (message: Json): void => {
    const toolUseId = asName(message.tool_use_id);
    const taskId = asName(message.task_id);
    if (toolUseId === undefined || taskId === undefined) return;
    if (!writer.isSubagent(toolUseId) && message.task_type !== 'local_agent') return; // a background command
    const parent = asName(message.parent_task_id);
    conversation.threads.link(taskId, toolUseId);
    writer.spawn(
      parent === undefined ? MAIN_CONVERSATION : conversation.threads.conversationOf(parent),
      { toolUseId, agentId: taskId, ...spawnFields(message) },
      now(),
    );
    if (message.is_backgrounded === true) writer.sendToBackground(toolUseId);
  };

  const addSystem = (message: Json): void => {
    switch (message.subtype) {
      case 'init':
        // A run that starts while calls are open: the previous one crashed.
        if (ended === undefined && writer.hasOpenBlocks(MAIN_CONVERSATION)) {
          writer.settle(MAIN_CONVERSATION, 'interrupted', now());
        }
        ended = undefined;
        break;
      case 'task_started':
        startTask(message);
        break;
      case 'task_notification': {
        const toolUseId = asName(message.tool_use_id);
        // The result of a foreground task follows and contains more.
        if (toolUseId === undefined || !writer.isInBackground(toolUseId)) break;
        conversation.threads.notify(
          {
            taskId: asName(message.task_id),
            toolUseId,
            status: asText(message.status),
            result: asText(message.summary),
            durationMs: asMilliseconds(asObject(message.usage)?.duration_ms),
          },
          now(),
        );
        break;
      }
      case 'compact_boundary':
        addEntry(entryOfMessage(message));
        break;
      default: // status, thinking_tokens, api_retry and other signals
    }
  };

  const handle = (value: unknown): void => {
    const message = asObject(value);
    if (message === undefined) {
      diagnostics.problem('malformed-line');
      return;
    }
    const type = asText(message.type) ?? '';
    diagnostics.count(type === 'system' ? `system/${asText(message.subtype) ?? ''}` : type);
    const conversationId = asName(message.parent_tool_use_id) ?? MAIN_CONVERSATION;
    if (type === 'result') addResult(message);
    else if (type === 'system') addSystem(message);
    else if (type === 'stream_event') {
      const event = asObject(message.event);
      if (event) partials.handle({ conversation, conversationId, at: now() }, event);
    } else if (!SIGNALS.has(type)) {
      if (conversationId === MAIN_CONVERSATION) ended = undefined;
      addEntry(entryOfMessage(message));
    }
  };

  return streamConverter({
    writer,
    handle,
    // The stream continues until the last background subagent has ended: one that still runs was cut off.
    end: (reason = ended ?? 'interrupted') => writer.settleAll(reason, now(), true),
  });
}

/** Whether an entry says that the user interrupted the main conversation. */
function isInterruption(entry: ClaudeEntry): boolean {
  if (entry.type !== 'user' || entry.parentToolUseId !== undefined) return false;
  const kind = classifyUserText(contentText(entry.message?.content), false);
  return kind.kind === 'notice' && kind.subtype === 'interrupted';
}

/** Whether an error is a note of the SDK to itself: it adds one to the result of a run that the user interrupted. */
function isDiagnostic(error: string): boolean {
  return error.startsWith('[ede_diagnostic]');
}
