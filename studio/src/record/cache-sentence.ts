/** Why a request used or missed the prompt cache, in a sentence. */
import type { CacheCause, CacheExplanation } from '../../../src/history/inspect/explain-cache.ts';
import type { RequestPoint } from '../../../src/history/inspect/request-series.ts';
import { duration } from '../ui/format.ts';

/** What became of the cache: used, missed, or nothing that can be said. */
export type CacheVerdict = 'used' | 'missed' | 'open';

const VERDICTS: Readonly<Record<CacheCause, CacheVerdict>> = {
  first: 'open',
  hit: 'used',
  model: 'missed',
  instructions: 'missed',
  tools: 'missed',
  history: 'missed',
  erasure: 'missed',
  repair: 'missed',
  idle: 'missed',
  short: 'open',
  unreported: 'open',
  provider: 'missed',
  unknown: 'open',
};

export function cacheVerdict({ cause }: CacheExplanation): CacheVerdict {
  return VERDICTS[cause];
}

type Request = Pick<RequestPoint, 'cache' | 'usage' | 'model' | 'strategy'>;

/** The sentence. It names the first message that differs from the request before, and what changed it. */
export function cacheSentence(request: Request): string {
  const { cache, usage, model, strategy } = request;
  switch (cache.cause) {
    case 'first':
      return 'This is the first request, so that no cache could hold its beginning.';
    case 'hit':
      return `The cache was used: the request starts with the whole request before, and the provider read ${tokens(usage?.cachedInputTokens)} of ${tokens(usage?.inputTokens)} input tokens from its cache.`;
    case 'model':
      return `The cache was missed: ${model ?? 'another model'} responded, and another model the time before. Each model has a cache of its own.`;
    case 'instructions':
      return `The cache was missed: the instructions are not those of the request before. ${kept(cache)}`;
    case 'tools':
      return 'The cache was missed: the tools are not those of the request before, and providers put them before everything else.';
    case 'history':
      return `The cache was missed${place(cache)}: ${cache.manager ?? strategy} ${changed(cache)}. ${kept(cache)}`;
    case 'erasure':
      return `The cache was missed${place(cache)}: a message was erased. ${kept(cache)}`;
    case 'repair':
      return `The cache was missed${place(cache)}: the record itself changed there, because a call was closed or its result was put in its place. ${kept(cache)}`;
    case 'idle':
      return `The cache had expired: the request starts with the whole request before, and was sent ${duration(cache.idleMs ?? 0)} after its response.`;
    case 'short':
      return 'The request starts with the whole request before, which is shorter than what providers cache (1,024 tokens).';
    case 'unreported':
      return 'The request starts with the whole request before, so that a cache could be used. The provider does not report whether it was.';
    case 'provider':
      return `The provider read nothing from its cache, although the request starts with the whole request before${cache.idleMs === undefined ? '' : ` and was sent ${duration(cache.idleMs)} after its response`}.`;
    case 'unknown':
      return `This server does not know the history manager ${strategy}, so that it cannot compare this request with the one before.`;
    default:
      return cache.cause satisfies never;
  }
}

/** `at message 4`, counted as people count. */
function place({ comparison }: CacheExplanation): string {
  const difference = comparison?.difference;
  return difference ? ` from message ${difference.index + 1} on` : '';
}

const ROLES = {
  system: 'the instructions',
  user: 'a message of the user',
  assistant: 'a response',
  tool: 'a result',
} as const;

function changed({ comparison }: CacheExplanation): string {
  const { change, before, now } = comparison?.difference ?? {};
  if (change === 'removed' && before) return `left out ${ROLES[before.role]} that the request before had there`;
  if (change === 'added' && now) return `put in ${ROLES[now.role]} that the request before did not have there`;
  if (change === 'altered' && before) return `changed ${ROLES[before.role]} there`;
  return 'changed the beginning';
}

/** How much of the request before is still the beginning of this one. */
function kept({ comparison }: CacheExplanation): string {
  if (!comparison) return '';
  const { sharedTokens, previousTokens, stability } = comparison;
  return `${percent(stability)} of the request before (${tokens(sharedTokens)} of ${tokens(previousTokens)} tokens) is still the same beginning.`;
}

export function tokens(value: number | undefined): string {
  return (value ?? 0).toLocaleString('en');
}

/** `83 %`. What is not everything is never 100 %, and what is not nothing never 0 %. */
export function percent(share: number): string {
  const whole = Math.round(share * 100);
  const honest = share < 1 ? Math.min(whole, 99) : whole;
  return `${share > 0 ? Math.max(honest, 1) : honest} %`;
}
