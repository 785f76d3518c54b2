import type { AssistantMessage, ToolCall, ToolMessage } from '../core/messages.ts';
import { callsOf } from '../core/messages.ts';
import type { ApiRules } from './api-rules.ts';
import { readArguments } from './call-arguments.ts';
import { SentCallIds, sentName } from './call-ids.ts';
import type { FormatOptions } from './losses.ts';

/** A call as an API takes it. */
export interface SentCall {
  readonly id: string;
  readonly name: string;
  readonly input: Record<string, unknown>;
}

/** The calls of one request in an API's ids and names. What had to be changed is reported. */
export class SentCalls {
  readonly #rules: ApiRules;
  readonly #ids: SentCallIds;
  readonly #onLoss: FormatOptions['onLoss'];

  constructor(rules: ApiRules, { onLoss }: FormatOptions = {}) {
    this.#rules = rules;
    this.#ids = new SentCallIds(rules.callIds);
    this.#onLoss = onLoss;
  }

  /** The calls of a message that are ours to run. The results that follow are those of this message. */
  open(message: AssistantMessage): ReadonlyMap<ToolCall, SentCall> {
    const calls = callsOf(message);
    const ids = this.#ids.open(calls);
    return new Map(calls.map((call, i) => [call, this.#sent(call, ids[i] as string)]));
  }

  /** The id and the name that a result's call was sent with. */
  resultOf(result: ToolMessage): { readonly id: string; readonly name: string } {
    return { id: this.#ids.resultOf(result.toolCallId), name: sentName(result.toolName, this.#rules.names) };
  }

  #sent(call: ToolCall, id: string): SentCall {
    const { callId } = call;
    const name = sentName(call.name, this.#rules.names);
    const { input, isObject } = readArguments(call.arguments);
    const lose = this.#onLoss;
    if (lose && id !== callId) {
      lose({ what: 'call id', why: 'changed: the API takes ids of some characters and length, each once', id: callId });
    }
    if (lose && name !== call.name) {
      lose({ what: 'tool name', why: 'changed: the API takes names of some characters and length', id: call.name });
    }
    if (lose && !isObject) {
      lose({ what: 'arguments of a call', why: 'wrapped in an object: they are no JSON object', id: callId });
    }
    return { id, name, input };
  }
}

/** The parts and the calls of a response in the order in which the model wrote them. */
export function* partsAndCalls(
  message: AssistantMessage,
): Iterable<{ readonly part: AssistantMessage['content'][number] } | { readonly call: ToolCall }> {
  const { content, toolCalls = [] } = message;
  for (let place = 0; place <= content.length; place++) {
    for (const call of toolCalls) if (Math.min(call.after ?? content.length, content.length) === place) yield { call };
    const part = content[place];
    if (part) yield { part };
  }
}
