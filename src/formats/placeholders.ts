/** Text that a request holds where a provider API demands some and the conversation has none. One wording for every format. */

/** For a call without a recorded result: every API refuses a call that has none. */
export const NO_RESULT = 'No result was recorded for this call. Its outcome is unknown.';

/** For a recorded result that a history manager dropped while it kept the call (D65). */
export const DROPPED_RESULT = '[result left out]';

/** For a tool that failed without a message. */
export const EMPTY_FAILURE = 'The tool failed.';

/** For a result that is media only, where the API takes media in user messages only. */
export const MEDIA_FOLLOWS = 'The result is in the next message.';

/** For a user message without content: the response to it needs it all the same. */
export const EMPTY_MESSAGE = '(empty message)';

/** For the user's part of a request that holds instructions only. */
export const BEGIN = 'Begin.';

/** For a request whose first message is the assistant's, where the API wants a user message first. */
export const BEGINNING_LEFT_OUT = '[The beginning was left out.]';

/** For a request that ends with the assistant's words, where the API refuses to continue them. */
export const CONTINUE = 'Continue.';
