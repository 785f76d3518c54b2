import { type CallIdRule, type NameRule, NINE_CHARACTERS, plainNames, SHORT_IDS, safeIds } from './call-ids.ts';

/**
 * What each provider API accepts, as a table. Codecs, model adapters, `canSend` and `repairCoherence` read their limits from here, so
 * that a check, a repair and a request never disagree.
 */
export interface ApiRules {
  readonly callIds: CallIdRule;
  readonly names: NameRule;
  /** Whether a tool result may hold media; if not, the media follows the results as a user message. */
  readonly mediaInResults: boolean;
  /** Refuses a conversation that does not start with a user message: instructions alone are none. */
  readonly userFirst: boolean;
  /** Refuses a history with calls when the request offers no tools. */
  readonly declaredTools: boolean;
}

/** The APIs whose rules are known. */
export type Api = keyof typeof API_RULES;

const CLAUDE: ApiRules = {
  callIds: safeIds(64),
  names: plainNames(64),
  mediaInResults: true,
  userFirst: true,
  declaredTools: true,
};

const OPENAI: ApiRules = {
  callIds: safeIds(40),
  names: plainNames(64),
  mediaInResults: false,
  userFirst: false,
  declaredTools: false,
};

/** The least restrictive rules, for APIs that are not known. */
const LOOSE: ApiRules = {
  callIds: SHORT_IDS,
  names: { notAllowed: /[^a-zA-Z0-9_.:-]/g, maxLength: 64 },
  mediaInResults: true,
  userFirst: false,
  declaredTools: false,
};

/** The rules of each API. */
export const API_RULES: {
  readonly [api in
    | 'anthropic'
    | 'hosted-claude'
    | 'openai'
    | 'openai-responses'
    | 'google'
    | 'mistral'
    | 'chat'
    | 'other']: ApiRules;
} = {
  anthropic: { ...CLAUDE, names: plainNames(128) },
  // Claude behind another provider's API.
  'hosted-claude': CLAUDE,
  openai: OPENAI,
  'openai-responses': { ...OPENAI, mediaInResults: true },
  google: { ...LOOSE, userFirst: true },
  mistral: { ...LOOSE, callIds: NINE_CHARACTERS, userFirst: true, mediaInResults: false },
  // Chat completions of any provider but OpenAI.
  chat: { ...LOOSE, mediaInResults: false },
  other: LOOSE,
};
