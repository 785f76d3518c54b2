import { type ErrorCode, isHoldfastError } from '../../core/errors.ts';

/** The codes of errors that only the server has; every other error has the code of its `HoldfastError`. */
export type HttpErrorCode =
  | 'UNAUTHORIZED'
  | 'HOST_FORBIDDEN'
  | 'ORIGIN_FORBIDDEN'
  | 'HEADER_MISSING'
  | 'ROUTE_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'NOT_RUNNING'
  | 'BODY_TOO_LARGE'
  | 'MEDIA_TYPE_UNSUPPORTED'
  | 'TOO_MANY_STREAMS'
  | 'INTERNAL';

/** The body of every failed request. */
export interface ErrorBody {
  readonly error: { readonly code: ErrorCode | HttpErrorCode; readonly message: string };
}

const HTTP_STATUS: Readonly<Record<HttpErrorCode, number>> = {
  UNAUTHORIZED: 401,
  HOST_FORBIDDEN: 403,
  ORIGIN_FORBIDDEN: 403,
  HEADER_MISSING: 403,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NOT_RUNNING: 409,
  BODY_TOO_LARGE: 413,
  MEDIA_TYPE_UNSUPPORTED: 415,
  TOO_MANY_STREAMS: 503,
  INTERNAL: 500,
};

/** Codes that are not listed are failures of the server: 500. */
const STATUS: Partial<Readonly<Record<ErrorCode, number>>> = {
  INVALID_ARGUMENT: 400,
  EVENT_INVALID: 400,
  SESSION_READ_ONLY: 403,
  STORE_READ_ONLY: 403,
  SESSION_NOT_FOUND: 404,
  CONVERSATION_NOT_FOUND: 404,
  TOOL_CALL_NOT_FOUND: 404,
  INPUT_NOT_FOUND: 404,
  AGENT_UNKNOWN: 409,
  CONTENT_NOT_FOUND: 404,
  KEY_REUSED: 409,
  SESSION_BUSY: 409,
  SESSION_CONFLICT: 409,
  CALL_DECIDED: 409,
  CALL_OPEN: 409,
  PROMPT_MISMATCH: 409,
  EVENT_TOO_LARGE: 413,
  STORE_UNSUPPORTED: 501,
  STORE_BUSY: 503,
  SESSION_CLOSED: 503,
  STORE_FULL: 507,
};

/** A request that the server refuses before any session sees it. */
export class HttpError extends Error {
  readonly code: HttpErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: HttpErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }
}

/** What a client receives for an error. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorBody;
}

/** The status and body for an error. Messages of failures (500 and above) are general: those of stores name files of the server. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof HttpError) {
    const { code, message, headers } = error;
    return { status: HTTP_STATUS[code], headers, body: { error: { code, message } } };
  }
  if (!isHoldfastError(error)) return failure(500, 'INTERNAL');
  const { code, message, detail } = error;
  // A person acted on what another has changed meanwhile: no mistake.
  const status = detail === 'late' ? 409 : (STATUS[code] ?? 500);
  return status < 500 ? { status, headers: {}, body: { error: { code, message } } } : failure(status, code);
}

/** Whether `onError` receives an error: the server failed, and it is not merely busy or closed. */
export function isFailure(error: unknown): boolean {
  const { status } = refusalOf(error);
  return status >= 500 && status !== 503 && !(error instanceof HttpError);
}

function failure(status: number, code: ErrorCode | HttpErrorCode): Refusal {
  const message =
    status === 503 ? 'the server cannot do this now; try again' : 'the server failed; its onError has the error';
  return { status, headers: {}, body: { error: { code, message } } };
}
