import type { ToolEffect } from '../../core/events.ts';
import type { AssistantMessage, ToolCall } from '../../core/messages.ts';
import type { Usage } from '../../core/usage.ts';
import { type Run, record } from '../../loop/run.ts';
import { failure, resultOf } from '../../loop/tool-result.ts';
import { TOOL_SERVER } from '../mcp-tools.ts';
import { beginSubagent } from '../subagent-run.ts';
import { ThreadRecorder } from '../thread-recorder.ts';
import { failed } from './opencode-session.ts';
import type { OpenCodeEvent, OpenCodeMessage, OpenCodePart } from './opencode-types.ts';

/** The tool that starts a subagent. */
export const SUBAGENT_TOOL = 'task';

const OURS = `${TOOL_SERVER}_`;
const READS = new Set([
  'read',
  'glob',
  'grep',
  'list',
  'webfetch',
  'websearch',
  'codesearch',
  'todoread',
  'question',
  'lsp',
]);

const WRITES = new Set([
  'bash',
  'edit',
  'multiedit',
  'write',
  'patch',
  'apply_patch',
  'todowrite',
  'skill',
  'batch',
  'invalid',
  'plan_enter',
  'plan_exit',
]);

/** Whether OpenCode has a tool of that name itself. */
export function isBuiltIn(name: string): boolean {
  return READS.has(name) || WRITES.has(name) || name === SUBAGENT_TOOL;
}

/** A tool of ours is recorded under its own name, everything else under the name that OpenCode knows it by. */
export function recordedName(name: string): string {
  return name.startsWith(OURS) ? name.slice(OURS.length) : name;
}

/** What may be done again (D18): reading; a subagent, whose own calls are recorded one by one; of the rest, nothing. */
export function openCodeEffect(name: string): ToolEffect {
  return READS.has(name) ? 'read' : name === SUBAGENT_TOOL ? 'idempotent' : 'once';
}

interface Answer {
  readonly parts: Map<string, OpenCodePart>;
  /** What was heard of a text that is still being said. */
  readonly heard: Map<string, string>;
  /** The parts that are recorded, and how much of their text. */
  readonly written: Map<string, number>;
  info: OpenCodeMessage | undefined;
  /** Nothing more is expected of it. */
  over: boolean;
}

interface Thread {
  readonly recorder: ThreadRecorder;
  readonly answers: Map<string, Answer>;
  /** The call that started a subagent. */
  readonly callId?: string;
}

/**
 * OpenCode's events, written into our log as they come: the session's conversation, and each child session's as a child
 * conversation. OpenCode starts tools while an answer is still being given, so an answer is recorded in pieces (D57).
 */
export class OpenCodeThreads {
  readonly #threads = new Map<string, Thread>();
  /** The call that a child session works for now, and whose it is. */
  readonly #children = new Map<string, { readonly parent: Thread; readonly callId: string }>();
  /** What the call of a part is recorded as, and the newest call of each id: a provider may give an id again (D11). */
  readonly #callIds = new Map<string, string>();
  readonly #newest = new Map<string, string>();
  readonly #waiting = new Map<string, () => void>();
  /** Messages that were there before this run: a fork copies them. */
  readonly #old: ReadonlySet<string>;
  /** Everything is done in the order it was told. */
  #last: Promise<unknown> = Promise.resolve();
  readonly #used: () => Promise<void>;
  readonly #sessionId: string;
  #busy = false;
  /** It has answered, or will not. */
  #over = false;
  /** What went wrong, unless an answer came after it. */
  #problem: unknown;

  constructor(
    run: Run,
    options: { readonly sessionId: string; readonly old: ReadonlySet<string>; readonly used: () => Promise<void> },
  ) {
    this.#old = options.old;
    this.#used = options.used;
    this.#sessionId = options.sessionId;
    this.#threads.set(options.sessionId, { recorder: new ThreadRecorder(run), answers: new Map() });
  }

  /**
   * Takes in what OpenCode tells, until it has no more to do. `ask` is called once it tells: what it does for a question that it was
   * asked before would be lost. `answerFor` hears everything, to answer what waits for a person.
   */
  async follow(
    events: AsyncIterable<OpenCodeEvent>,
    {
      ask,
      answerFor,
    }: { readonly ask: () => Promise<void>; readonly answerFor: (event: OpenCodeEvent) => Promise<void> },
  ): Promise<void> {
    for await (const event of events) {
      await this.take(event);
      if (event.type === 'server.connected') await ask();
      await answerFor(event);
      if (!this.#over) continue;
      if (this.#problem !== undefined) throw failed(JSON.stringify(this.#problem));
      return;
    }
    throw failed('it stopped telling what it does');
  }

  /** Takes in one event. */
  take(event: OpenCodeEvent): Promise<void> {
    return this.#inOrder(() => this.#take(event));
  }

  /** Resolves when the call that is about to run is in the log: with what it is recorded as, and the conversation it belongs to. */
  async recorded(
    sessionId: string,
    callID: string,
  ): Promise<{ readonly callId: string; readonly thread: ThreadRecorder }> {
    const key = `${sessionId}/${callID}`;
    for (;;) {
      const callId = this.#newest.get(key);
      const thread = this.#threads.get(sessionId)?.recorder;
      if (callId !== undefined && thread?.hasCall(callId) && !thread.hasResult(callId)) return { callId, thread };
      await new Promise<void>((resolve) => this.#waiting.set(key, resolve));
    }
  }

  /** Resolves when an answer was told of: what was told before it is in the log. */
  async told(messageId: string): Promise<void> {
    const isTold = (): boolean =>
      this.#old.has(messageId) || this.#threads.get(this.#sessionId)?.answers.get(messageId)?.info !== undefined;
    while (!isTold()) await new Promise<void>((resolve) => this.#waiting.set(messageId, resolve));
  }

  /** Every conversation that goes on. */
  get recorders(): readonly ThreadRecorder[] {
    return [...this.#threads.values()].map(({ recorder }) => recorder);
  }

  /** The agent ends in the middle of what it says. */
  interrupt(reason?: unknown): Promise<void> {
    return this.#inOrder(async () => {
      for (const { recorder } of this.#threads.values()) await recorder.interrupt(reason);
    });
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {}); // told to its own caller
    return mine;
  }

  async #take({ type, properties }: OpenCodeEvent): Promise<void> {
    const { info, part, sessionID } = properties;
    if (sessionID === this.#sessionId) this.#progress(type, properties);
    if (type === 'session.status' && properties.status?.type === 'idle') await this.#finishAll(sessionID);
    else if (type === 'message.part.updated' && part) await this.#part(part);
    else if (type === 'message.part.delta') await this.#delta(properties);
    else if (type === 'message.updated' && info?.role === 'assistant') await this.#message(info);
  }

  async #part(part: OpenCodePart): Promise<void> {
    const thread = await this.#thread(part.sessionID);
    if (!thread || this.#old.has(part.messageID)) return;
    const answer = answerOf(thread, part.messageID);
    answer.parts.set(part.id, part);
    if (answer.over) await this.#flush(thread, answer, part.messageID); // it was not all
    if (part.type !== 'tool' || part.callID === undefined || part.state === undefined) return;
    const { status, output, error, metadata } = part.state;
    if (status === 'pending') return;
    const callId = this.#callIdOf(thread, part);
    await this.#flush(thread, answer, part.messageID);
    const childId = part.tool === SUBAGENT_TOOL ? metadata?.sessionId : undefined;
    if (status !== 'completed' && status !== 'error') {
      if (typeof childId === 'string') this.#children.set(childId, { parent: thread, callId });
      return;
    }
    const outcome = status === 'completed' ? resultOf(output ?? '', part.tool ?? '') : failure(error ?? 'failed');
    if (await thread.recorder.result(callId, outcome)) await this.#used();
    await this.#endChild(callId);
  }

  /** A subagent has ended with its call. Its session may be asked again, by another call. */
  async #endChild(callId: string): Promise<void> {
    const [sessionId, child] = [...this.#threads].find(([, thread]) => thread.callId === callId) ?? [];
    if (sessionId === undefined || !child) return;
    await this.#finishAll(sessionId);
    this.#threads.delete(sessionId);
    this.#children.delete(sessionId);
    const { run } = child.recorder;
    await record(run, [{ type: 'evaluation/completed', evaluationId: run.evaluationId }]);
  }

  #callIdOf(thread: Thread, { id, sessionID, callID = '' }: OpenCodePart): string {
    const known = this.#callIds.get(id);
    if (known !== undefined) return known;
    let callId = callID;
    for (let n = 2; thread.recorder.knowsCall(callId); n++) callId = `${callID}#${n}`;
    this.#callIds.set(id, callId);
    this.#newest.set(`${sessionID}/${callID}`, callId);
    return callId;
  }

  /** How far OpenCode is with what it was asked. */
  #progress(type: string, { status, error }: OpenCodeEvent['properties']): void {
    if (type === 'session.error') {
      this.#problem = error ?? 'it failed';
      this.#over = !this.#busy; // it did not even begin
    } else if (type === 'session.status') {
      if (status?.type === 'busy') this.#busy = true;
      if (status?.type === 'idle' && this.#busy) this.#over = true;
    }
  }

  /** A piece of a text that is being said. */
  async #delta(said: OpenCodeEvent['properties']): Promise<void> {
    const { sessionID = '', messageID = '', partID = '', field, delta } = said;
    const thread = await this.#thread(sessionID);
    const answer = thread?.answers.get(messageID);
    const part = answer?.parts.get(partID);
    if (!thread || !answer || !part || field !== 'text' || delta === undefined) return;
    if (answer.over || part.time?.end !== undefined) return; // it is known already
    answer.heard.set(partID, (answer.heard.get(partID) ?? '') + delta);
    if (thread.recorder.hasAnswer(messageID)) return; // what follows a recorded piece is shown when it is recorded
    const type = part.type === 'reasoning' ? 'reasoning-delta' : 'text-delta';
    thread.recorder.hear({ type, blockId: partID, delta });
  }

  async #message(info: OpenCodeMessage): Promise<void> {
    const thread = await this.#thread(info.sessionID);
    if (!thread || info.role !== 'assistant' || this.#old.has(info.id)) return;
    const answer = answerOf(thread, info.id);
    answer.info = info;
    this.#waiting.get(info.id)?.();
    if (info.time.completed === undefined) return;
    if (info.sessionID === this.#sessionId) this.#problem = info.error;
    // OpenCode tells of a message as it is when it comes to telling: its creation may be told as complete, before its parts.
    const isComplete =
      info.error !== undefined || [...answer.parts.values()].some(({ type }) => type === 'step-finish');
    if (isComplete) await this.#finish(thread, answer, info.id);
  }

  /** What was told of a session is all there is. */
  async #finishAll(sessionId = ''): Promise<void> {
    const thread = this.#threads.get(sessionId);
    if (!thread) return;
    for (const [messageId, answer] of thread.answers) if (answer.info) await this.#finish(thread, answer, messageId);
  }

  /** Records all of an answer, and what it cost. */
  async #finish(thread: Thread, answer: Answer, messageId: string): Promise<void> {
    if (answer.over) return;
    answer.over = true;
    await this.#flush(thread, answer, messageId, usageOf(answer.info));
  }

  /** Records what is new of an answer: calls whose input is known, and text that is complete or has a call behind it. */
  async #flush(thread: Thread, answer: Answer, messageId: string, usage?: Usage): Promise<void> {
    const { written } = answer;
    const parts = [...answer.parts.values()];
    const isNewCall = (part: OpenCodePart): boolean => isCall(part) && !written.has(part.id);
    const lastCall = parts.findLastIndex(isNewCall);
    const content: AssistantMessage['content'][number][] = [];
    const toolCalls: ToolCall[] = [];
    for (const [i, part] of parts.entries()) {
      if (part.type === 'text' || part.type === 'reasoning') {
        const text = (part.time?.end === undefined && answer.heard.get(part.id)) || (part.text ?? '');
        const before = written.get(part.id) ?? 0;
        // Some providers end a text only with the whole answer: whoever calls a tool has said what comes before it.
        if (text.length <= before || !(part.time?.end !== undefined || answer.over || i < lastCall)) continue;
        content.push({ type: part.type, text: text.slice(before) });
        written.set(part.id, text.length);
      } else if (isNewCall(part)) {
        toolCalls.push({
          callId: this.#callIdOf(thread, part),
          name: recordedName(part.tool ?? ''),
          arguments: JSON.stringify(part.state?.input ?? {}),
          after: content.length,
        });
        written.set(part.id, 0);
      }
    }
    await thread.recorder.answer({
      providerMessageId: messageId,
      content,
      toolCalls,
      usage,
      model: answer.info?.modelID,
    });
    for (const { sessionID, callID } of parts)
      if (callID !== undefined) this.#waiting.get(`${sessionID}/${callID}`)?.();
  }

  /** The conversation of a session; a child session's begins with its first message. */
  async #thread(sessionId: string): Promise<Thread | undefined> {
    const known = this.#threads.get(sessionId);
    if (known) return known;
    const { parent, callId } = this.#children.get(sessionId) ?? {};
    if (!parent || callId === undefined) return undefined;
    const run = await beginSubagent(parent.recorder.run, callId, { ns: 'opencode', type: SUBAGENT_TOOL });
    const thread: Thread = { recorder: new ThreadRecorder(run), answers: new Map(), callId };
    this.#threads.set(sessionId, thread);
    return thread;
  }
}

function answerOf(thread: Thread, messageId: string): Answer {
  let answer = thread.answers.get(messageId);
  if (!answer) {
    answer = { parts: new Map(), heard: new Map(), written: new Map(), info: undefined, over: false };
    thread.answers.set(messageId, answer);
  }
  return answer;
}

/** Whether a part is a call whose input is known. */
function isCall({ type, callID, state }: OpenCodePart): boolean {
  return type === 'tool' && callID !== undefined && state !== undefined && state.status !== 'pending';
}

function usageOf(info: OpenCodeMessage | undefined): Usage | undefined {
  const { tokens, cost } = info ?? {};
  if (!tokens) return undefined;
  return {
    inputTokens: tokens.input + tokens.cache.read + tokens.cache.write,
    outputTokens: tokens.output + tokens.reasoning,
    ...(tokens.cache.read > 0 && { cachedInputTokens: tokens.cache.read }),
    ...(tokens.cache.write > 0 && { cacheWriteTokens: tokens.cache.write }),
    ...(tokens.reasoning > 0 && { reasoningTokens: tokens.reasoning }),
    ...(cost !== undefined && cost > 0 && { costUsd: cost }),
  };
}
