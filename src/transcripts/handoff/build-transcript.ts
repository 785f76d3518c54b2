/** A conversation as another agent's transcript, in memory. `importers/handoff/write-transcript.ts` writes it to that agent's folder. */
import { HoldfastError } from '../../core/errors.ts';
import { type Loss, LossReport } from '../../formats/losses.ts';
import type { RedactOptions, SecretCounts } from '../export/redact-secrets.ts';
import { claudeWriter } from './claude-writer.ts';
import { codexWriter } from './codex-writer.ts';
import { HandedTexts, isAbsolutePath, type PathMap } from './handed-texts.ts';
import { handedTurns } from './handed-turns.ts';
import { type HandedPast, type HandoffSource, messagesOf } from './handoff-source.ts';
import { openCodeWriter } from './opencode-writer.ts';
import type { TranscriptWriter, WriterContext } from './transcript-writer.ts';

/** The agents that a conversation can be handed to. */
export type HandoffTarget = 'claude-sdk' | 'codex' | 'opencode';

/** How to build a transcript. */
export interface BuildTranscriptOptions extends Pick<WriterContext, 'cwd' | 'at' | 'newId'> {
  readonly to: HandoffTarget;
  readonly sessionId?: string | undefined;
  readonly model?: string | undefined;
  readonly past?: HandedPast | undefined;
  readonly paths?: PathMap | undefined;
  readonly redact?: boolean | RedactOptions | undefined;
}

/** A transcript's text, and what it could not hold. */
export interface BuiltTranscript {
  readonly sessionId: string;
  readonly content: string;
  readonly losses: readonly Loss[];
  readonly redacted: SecretCounts;
}

const WRITERS: { readonly [T in HandoffTarget]: TranscriptWriter } = {
  'claude-sdk': claudeWriter,
  codex: codexWriter,
  opencode: openCodeWriter,
};

/** Builds a transcript. Throws `INVALID_ARGUMENT` for options that cannot work, and for a conversation without a message. */
export function buildTranscript(source: HandoffSource, options: BuildTranscriptOptions): BuiltTranscript {
  const { to, cwd, at, newId, past = 'full' } = options;
  const writer = WRITERS[to];
  checkDirectory(cwd);
  if (past !== 'full' && past !== 'summary') {
    throw new HoldfastError('INVALID_ARGUMENT', `past is 'full' or 'summary', not "${String(past)}"`);
  }
  const sessionId = options.sessionId ?? writer.newSessionId({ at, newId });
  if (!writer.accepts(sessionId)) {
    const form = to === 'opencode' ? '"ses_" and letters or digits' : 'a UUID in lower case';
    throw new HoldfastError('INVALID_ARGUMENT', `a session id of ${to} is ${form}, not "${sessionId}"`);
  }
  const model = checkModel(to, options.model);
  const losses = new LossReport();
  const texts = new HandedTexts(options, losses);
  const turns = handedTurns(messagesOf(source, past, losses), texts, losses);
  if (turns.length === 0) {
    throw new HoldfastError('INVALID_ARGUMENT', 'the conversation has no message that can be handed over');
  }
  try {
    const content = writer.write(turns, { sessionId, cwd, at, newId, model, losses });
    return { sessionId, content, losses: losses.list(), redacted: texts.redacted };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new HoldfastError('INVALID_ARGUMENT', "the conversation is too long for one text; use past: 'summary'", {
      cause: error,
    });
  }
}

function checkDirectory(cwd: unknown): void {
  if (isAbsolutePath(cwd) && cwd.isWellFormed()) return;
  throw new HoldfastError('INVALID_ARGUMENT', 'cwd is the absolute path of the directory in which the agent continues');
}

function checkModel(to: HandoffTarget, model: unknown): string | undefined {
  if (model === undefined) return undefined;
  const fits = typeof model === 'string' && /^[^\s-]\S*$/.test(model);
  if (fits && (to !== 'opencode' || /^[^/]+\/./.test(model))) return model;
  const form = to === 'opencode' ? "'provider/model' (opencode models lists them)" : 'a name without spaces';
  throw new HoldfastError('INVALID_ARGUMENT', `model is ${form}, not "${String(model)}"`);
}
