/**
 * The only error family. `code` is stable and the list is closed; the message states what happened and what to do next.
 */
export type ErrorCode =
  // the conversation
  | 'CONVERSATION_NOT_FOUND'
  | 'PROMPT_MISMATCH'
  | 'KEY_REUSED'
  | 'AGENT_UNKNOWN'
  | 'EVALUATION_FAILED'
  | 'OUTPUT_INVALID'
  | 'TOOL_OUTCOME_UNKNOWN'
  | 'TOOL_CALL_NOT_FOUND'
  | 'CALL_DECIDED'
  | 'CALL_OPEN'
  | 'INPUT_NOT_FOUND'
  | 'APPROVAL_REQUIRED'
  | 'TIMER_PENDING'
  // limits
  | 'DEADLINE_EXCEEDED'
  | 'BUDGET_EXCEEDED'
  | 'TURN_LIMIT'
  | 'CANCELLED'
  | 'PROVIDER_FAILED'
  // the session
  | 'SESSION_CONFLICT'
  | 'SESSION_BUSY'
  | 'SESSION_EXPIRED'
  | 'SESSION_CLOSED'
  | 'SESSION_NOT_FOUND'
  | 'SESSION_EXISTS'
  | 'SESSION_READ_ONLY'
  | 'SESSION_IMPORTED'
  | 'SOURCE_INCOMPLETE'
  | 'SNAPSHOT_INVALID'
  | 'SNAPSHOT_TOO_LARGE'
  | 'SLICE_UNKNOWN'
  | 'EVENT_INVALID'
  | 'EVENT_TOO_LARGE'
  | 'ADAPTER_STATE_INVALID'
  // the store
  | 'STORE_BUSY'
  | 'STORE_READ_ONLY'
  | 'STORE_FULL'
  | 'STORE_CORRUPT'
  | 'STORE_TOO_NEW'
  | 'STORE_UNSUPPORTED'
  | 'RUNTIME_UNSUPPORTED'
  | 'STORE_FAILED'
  | 'STORE_REPLACED'
  | 'APPEND_ID_REUSED'
  | 'CONTENT_NOT_FOUND'
  // everything else
  | 'INVALID_ARGUMENT'
  | 'CHECKPOINT_INVALID'
  | 'DEPENDENCY_MISSING';

/**
 * Which check failed for a rejected append: the sequence (retry after reading on) or the fence (give up). `late`: the tool call of a
 * decision has ended, or runs again, since the caller read it.
 */
export type ConflictDetail = 'sequence' | 'fence' | 'late';

export interface HoldfastErrorOptions {
  readonly cause?: unknown;
  readonly detail?: ConflictDetail;
  /** Details of the error: an id, a holder, a list of problems. For people; code should match on `code`. */
  readonly data?: unknown;
}

/** Every error that Holdfast throws. Match on `code`; show `message`. */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError';
  readonly code: ErrorCode;
  readonly detail?: ConflictDetail;
  readonly data?: unknown;

  constructor(code: ErrorCode, message: string, options: HoldfastErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (options.detail !== undefined) this.detail = options.detail;
    if (options.data !== undefined) this.data = options.data;
  }
}

/** Whether a caught value is a `HoldfastError` and, if `code` is given, has that code. */
export function isHoldfastError(error: unknown, code?: ErrorCode): error is HoldfastError {
  return error instanceof HoldfastError && (code === undefined || error.code === code);
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
