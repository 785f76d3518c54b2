/** What the head of an exported document says: where the conversation comes from, when it was, and what it took. */
import type { BlockList, SessionConversationState } from '../../conversation/blocks.ts';
import { usageTotals } from '../../conversation/selectors.ts';
import type { Usage } from '../../core/log/usage.ts';
import type { LossReport } from '../../formats/losses.ts';

/** Where a conversation comes from; what a state does not know itself. */
export interface AboutConversation {
  /** A name or a path. */
  readonly project?: string;
  /** `Claude Code`, `Codex`, the name of your own agent. */
  readonly agent?: string;
  /** The agent's version. */
  readonly version?: string;
  /** The id of the session. */
  readonly session?: string;
  /** The branch of a repository. */
  readonly branch?: string;
}

/** How a document is written. */
export interface DocumentOptions {
  readonly title: string;
  readonly about: AboutConversation;
  readonly losses: LossReport;
}

/** What every block needs to know of its document. */
export interface Page {
  readonly losses: LossReport;
  /** The day that the head names. */
  readonly day: string;
}

/** The facts of a head, as pairs of a name and a text. */
export interface ConversationFacts {
  readonly about: readonly (readonly [name: string, value: string])[];
  /** The time span; nothing if no block has a time. */
  readonly time: string;
  /** The day of the first block. */
  readonly day: string;
  /** Turns, calls, failures, tokens and cost. */
  readonly totals: readonly string[];
}

/** Reads the facts from what is given and from the blocks of every thread. */
export function conversationFacts(state: SessionConversationState, about: AboutConversation): ConversationFacts {
  const counts = { turns: 0, calls: 0, failures: 0 };
  const models = new Set<string>();
  const span: Span = { first: '', last: '' };
  for (const block of state.blocks) {
    if (block.type === 'user_message' && (block.content.trim() !== '' || block.attachments?.length)) counts.turns++;
  }
  for (const blocks of [state.blocks, ...state.subagents.map((subagent) => subagent.blocks)])
    count(blocks, counts, models, span);
  const { usage, messages } = usageTotals(state);
  const failed = counts.failures > 0 ? `, ${number(counts.failures)} failed` : '';
  const agent = [about.agent, about.version].filter((part) => part).join(' ');
  const named: readonly (readonly [string, string | undefined])[] = [
    ['Project', about.project],
    ['Branch', about.branch],
    ['Agent', agent],
    [models.size > 1 ? 'Models' : 'Model', [...models].join(', ')],
    ['Session', about.session],
  ];
  return {
    about: named.flatMap(([name, value]) => (value ? [[name, value] as const] : [])),
    time: timeSpan(span),
    day: TIME.exec(span.first)?.[1] ?? '',
    totals: [
      ...(counts.turns > 0 ? [plural(counts.turns, 'turn')] : []),
      ...(counts.calls > 0 ? [`${plural(counts.calls, 'call')}${failed}`] : []),
      ...(messages > 0 ? usageTexts(usage) : []),
    ],
  };
}

/** The lines of a head: what is known about the conversation, its time and its totals. */
export function headFacts({ about, time, totals }: ConversationFacts): ConversationFacts['about'] {
  return [
    ...about,
    ...(time ? [['Time', time] as const] : []),
    ...(totals.length > 0 ? [['Totals', totals.join(' · ')] as const] : []),
  ];
}

interface Span {
  first: string;
  last: string;
}

function count(blocks: BlockList, counts: { calls: number; failures: number }, models: Set<string>, span: Span): void {
  for (const block of blocks) {
    if (block.type === 'tool_use' || block.type === 'subagent') counts.calls++;
    if ((block.type === 'tool_result' && block.isError) || (block.type === 'subagent' && block.status === 'error'))
      counts.failures++;
    if (block.message?.model && !block.message.model.startsWith('<')) models.add(block.message.model);
    if (!TIME.test(block.timestamp)) continue;
    const at = Date.parse(block.timestamp);
    if (Number.isNaN(at)) continue;
    if (span.first === '' || at < Date.parse(span.first)) span.first = block.timestamp;
    if (span.last === '' || at > Date.parse(span.last)) span.last = block.timestamp;
  }
}

const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?$/;

/** `2026-01-01 10:00:00 to 10:05:12 UTC`, in the zones that the times are written in. */
function timeSpan({ first, last }: Span): string {
  const [, day = '', start = '', zone] = TIME.exec(first) ?? [];
  const [, lastDay = '', end = '', lastZone] = TIME.exec(last) ?? [];
  if (day === '') return '';
  if (`${day}${start}${zone}` === `${lastDay}${end}${lastZone}`) return `${day} ${start}${zoneName(zone)}`;
  const isSameZone = zone === lastZone;
  const ended = day === lastDay && isSameZone ? end : `${lastDay} ${end}`;
  return `${day} ${start}${isSameZone ? '' : zoneName(zone)} to ${ended}${zoneName(lastZone)}`;
}

function zoneName(zone: string | undefined): string {
  if (zone === undefined) return '';
  return zone === 'Z' || /^[+-]00:?00$/.test(zone) ? ' UTC' : ` UTC${zone}`;
}

function usageTexts({ inputTokens, outputTokens, costUsd }: Usage): string[] {
  return [
    `${number(inputTokens)} tokens in, ${number(outputTokens)} out`,
    ...(costUsd === undefined ? [] : [`$${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`]),
  ];
}

/** A count and its unit. */
export function plural(n: number, unit: string): string {
  return `${number(n)} ${unit}${n === 1 ? '' : 's'}`;
}

/** A count with a comma between thousands. */
export function number(n: number): string {
  return String(n).replace(/\B(?=(?:\d{3})+$)/g, ',');
}
