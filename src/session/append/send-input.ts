import { HoldfastError } from '../../core/errors.ts';
import { isErasedContent } from '../../core/fold/erased.ts';
import type { SessionState } from '../../core/fold/fold.ts';
import type { SessionInput } from '../../core/fold/session-inputs.ts';
import { type KnownOptions, refuseUnknownOptions } from '../../core/known-options.ts';
import type { InputContent, InputMode, InputQueued } from '../../core/log/events.ts';
import { inputProblem } from '../../core/log/message-problem.ts';
import { inputObstacle } from '../../core/plan/run-plan.ts';
import type { QueuedInput } from '../../core/views/views.ts';
import { lateModule } from '../../stores/late-module.ts';
import { contentHashes, moveContent } from '../read/contents.ts';
import type { AnyEvent } from './append-for-loop.ts';
import type { AppendGuard } from './append-queue.ts';
import type { AcceptedEvents } from './event-intake.ts';
import { uniqueId } from './unique-id.ts';

/** The parts of a session that sending and withdrawing use. */
export interface InputTarget {
  readonly state: () => SessionState;
  readonly refresh: () => Promise<void>;
  /** Checks, redacts and dates an event, and moves large content out of it. `plain`: as in `EventIntake.accept`. */
  readonly accept: (event: AnyEvent, plain?: number) => AcceptedEvents;
  readonly append: (accepted: AcceptedEvents, guard: AppendGuard) => Promise<{ readonly seq: number }>;
}

/** Options of `session.send`. */
export interface SendOptions {
  /** Names the input, so that sending it again sends it once; a random one unless given. */
  readonly id?: string;
  /** `next` unless given. */
  readonly mode?: InputMode;
  /** The name of the agent that it is for; without one the newest evaluation's agent, or the only one. */
  readonly agent?: string;
  /** The sender. */
  readonly by?: string;
}

/** An input as `send` left it. */
export interface SentInput extends Pick<QueuedInput, 'id' | 'seq' | 'mode' | 'waitsFor'> {
  /** `queued`, unless it was sent before and was placed or withdrawn meanwhile. */
  readonly status: SessionInput['status'];
}

const SEND: KnownOptions<SendOptions> = { id: true, mode: true, agent: true, by: true };
const MAX_ID_LENGTH = 200;
/** An upper bound for the characters of an input's event beside its content. */
const ENVELOPE = 1024;

/** Appends an input. The same id again returns the first; with another text it is `KEY_REUSED` (D61). */
export async function sendInput(
  access: InputTarget,
  input: string | InputContent,
  options: SendOptions,
): Promise<SentInput> {
  refuseUnknownOptions('send', options, SEND);
  const { id: inputId = uniqueId('in_'), mode = 'next', agent, by } = options;
  checkId(inputId);
  if (mode !== 'next' && mode !== 'steer') throw invalid(`mode is 'next' or 'steer', not ${String(mode)}`);
  const given = { inputId, mode, ...(agent !== undefined && { agent }), ...(by !== undefined && { by }) };
  const accepted = acceptInput(access, input, given);
  const [queued] = accepted.events;
  const isNew = (state: SessionState): boolean => {
    const known = state.record.inbox.items.get(inputId);
    if (!known) return true;
    refuseOtherText(state, known, (queued as InputQueued).content);
    return false;
  };
  try {
    await access.append(accepted, (state) => {
      if (!isNew(state)) throw new DoneAlready();
    });
  } catch (error) {
    if (!(error instanceof DoneAlready)) throw error;
    await access.refresh(); // it may have been placed since
  }
  const state = access.state();
  const { items } = state.record.inbox;
  const newest = items.items.at(-1);
  const item = newest?.id === inputId ? newest : items.get(inputId);
  if (!item) throw new Error(`input ${inputId} is not in the log`);
  const waitsFor = item.status === 'queued' ? inputObstacle(state, item) : undefined;
  return { id: inputId, seq: item.seq, mode: item.mode, status: item.status, ...(waitsFor && { waitsFor }) };
}

/** The event of an input, ready to be appended. That of a short text is made here, of texts that were checked: it needs no copy. */
function acceptInput(
  { accept }: InputTarget,
  input: string | InputContent,
  given: Pick<InputQueued, 'inputId' | 'mode' | 'agent' | 'by'>,
): AcceptedEvents {
  if (typeof input !== 'string' || input === '' || given.by !== undefined) {
    return accept({ type: 'input/queued', ...given, content: contentOf(input) });
  }
  const content = [{ type: 'text', text: input }];
  return accept({ type: 'input/queued', ...given, content }, input.length + (given.agent?.length ?? 0) + ENVELOPE);
}

/** Takes a queued input back. False when it was placed already. */
export async function withdrawInput(
  access: InputTarget,
  inputId: string,
  options: { readonly by?: string },
): Promise<boolean> {
  refuseUnknownOptions('withdraw', options, { by: true });
  checkId(inputId);
  const { by } = options;
  await access.refresh();
  const { seq: queuedSeq } = access.state().record.inbox.items.get(inputId) ?? { seq: 0 };
  const accepted = access.accept({ type: 'input/withdrawn', inputId, queuedSeq, ...(by !== undefined && { by }) });
  try {
    await access.append(accepted, ({ record }) => {
      const item = record.inbox.items.get(inputId);
      if (!item) throw new HoldfastError('INPUT_NOT_FOUND', `this session has no input ${inputId}`);
      if (item.status !== 'queued') throw new DoneAlready();
    });
    return true;
  } catch (error) {
    if (!(error instanceof DoneAlready)) throw error;
    return access.state().record.inbox.items.get(inputId)?.status === 'withdrawn';
  }
}

/** The log has it already: nothing is to be appended. */
class DoneAlready extends Error {}

function contentOf(input: string | InputContent): InputContent {
  const content = typeof input === 'string' ? [{ type: 'text' as const, text: input }] : input;
  const problem = inputProblem(content) ?? (content.every(isEmpty) ? 'it is empty' : undefined);
  if (problem) throw invalid(`this input cannot be sent: ${problem}`);
  return content;
}

function isEmpty(part: InputContent[number]): boolean {
  return part.type === 'text' && part.text === '';
}

function checkId(id: unknown): void {
  if (typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH && id.isWellFormed()) return;
  throw invalid(`the id of an input is a text of 1 to ${MAX_ID_LENGTH} characters`);
}

/** Compares what was recorded with what would be: both are redacted, and large parts are hashes, by the handle's own limit. */
function refuseOtherText(state: SessionState, known: SessionInput, content: InputContent): void {
  const recorded = known.content ?? placedContent(state, known);
  if (!recorded || isErasedContent(recorded) || isSameContent(recorded, content)) return;
  throw new HoldfastError(
    'KEY_REUSED',
    `this session has an input ${known.id} with other content; give each input an id of its own`,
  );
}

function isSameContent(recorded: InputContent, content: InputContent): boolean {
  const { isDeepStrictEqual } = lateModule('node:util');
  return isDeepStrictEqual(recorded, content) || isDeepStrictEqual(asReferences(recorded), asReferences(content));
}

/** A content with every part under its hash: handles with different `maxInlineLength` record the same text as different parts. */
function asReferences(content: InputContent): readonly unknown[] {
  return content.map((part) => {
    if (contentHashes({ content: [part] }).length > 0) return part;
    const moved = moveContent({ type: 'input/queued', content: [part] } as unknown as InputQueued, 0, 0).event;
    return (moved as InputQueued).content[0];
  });
}

function placedContent({ record }: SessionState, { placed }: SessionInput): InputContent | undefined {
  const messages = placed && record.evaluations.get(placed.evaluationId)?.messages;
  if (!messages) return undefined;
  let low = 0;
  let high = messages.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const message = messages.at(middle);
    if (message?.sequence === placed.sequence) return message.role === 'user' ? message.content : undefined;
    if ((message?.sequence ?? 0) < placed.sequence) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}

function invalid(why: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', why);
}
