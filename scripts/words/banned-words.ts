/** A word that has a term in the glossary (ARCHITECTURE.md), or that hides the actor, and the term to use instead. */
export interface BannedWord {
  readonly word: RegExp;
  readonly use: string;
}

/** All of them, in any prose: comments, error messages, test titles and documents. */
export const BANNED_WORDS: readonly BannedWord[] = [
  { word: /\banswer(?:s|ed|ing)?\b/gi, use: 'response (of a model), result (of a call), return, respond' },
  { word: /\bmend(?:s|ed|ing)?\b/gi, use: 'repair' },
  { word: /\b(?:tells?|telling|told)\b/gi, use: 'notify, report, return, send, distinguish' },
  { word: /\b(?:hears?|hearing|heard)\b/gi, use: 'receive, be notified' },
  {
    word: /\b(?:whoever|nobody|somebody|someone)\b/gi,
    use: 'the actor: the caller, the store, the loop, a process, a person',
  },
  { word: /\banew\b/gi, use: 'again' },
  { word: /\b(?:kept|stored|keeps?|stores?) apart\b/gi, use: 'external content' },
  { word: /\b(?:puts?|putting) together\b/gi, use: 'build' },
  { word: /\b(?:go|goes|going|went|gone) on\b/gi, use: 'continue' },
  { word: /\bdear(?:er|est)?\b/gi, use: 'slow, expensive' },
  { word: /\bby turns\b/gi, use: 'alternately' },
  { word: /\bthe (?:second|third|fourth|fifth) document\b/gi, use: 'the name of the idea' },
];

/** Words that no identifier of the sources has, in any case: `unlessSpoken` has `spoken`. */
export const BANNED_IN_NAMES: readonly BannedWord[] = [
  { word: /^answer(?:s|ed|ing)?$/, use: 'response, result, respond' },
  { word: /^(?:un)?(?:told|tell|tells|telling)$/, use: 'reported, recorded, send' },
  { word: /^(?:hear|hears|heard)$/, use: 'receive, received' },
  { word: /^(?:speak|speaks|spoken)$/, use: 'decided, received, text' },
  { word: /^(?:say|says|said)$/, use: 'text, message, state' },
  { word: /^(?:nobody|somebody|someone|whoever)$/, use: 'none, the actor' },
  { word: /^went$/, use: 'failed, ended' },
  { word: /^mend(?:s|ed|ing)?$/, use: 'repair' },
];
