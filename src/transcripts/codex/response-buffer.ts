/**
 * Collects one response of the model with the results of its calls, and passes it on when the next one starts. A call may return
 * several outputs, and an item may hold the result that a crash lost, so a result is known only then.
 */
import { hasContent } from '../../formats/message-parts.ts';
import { BEGINNING_LEFT_OUT } from '../../formats/placeholders.ts';
import type { MessageBuilder } from '../message-builder.ts';
import type { Part } from './items/content.ts';
import type { Outcome } from './items/items.ts';
import { isFailure, type ModelCall } from './items/tool-calls.ts';

/** The result of a search: Codex gets the model's text about it, and nothing else. */
const NOT_RECORDED = 'The provider ran this search. What it found was not recorded.';

type Step =
  | { readonly text: string; readonly at: string }
  | { readonly call: ModelCall & { readonly callId: string }; readonly at: string }
  | { readonly search: string; readonly id: string; readonly at: string };

interface Output {
  readonly id: string;
  readonly createdAt: string;
  readonly parts: readonly Part[];
}

export class ResponseBuffer {
  readonly #builder: MessageBuilder;
  readonly #hasItems: boolean;
  #id: string | undefined;
  #isOver = true;
  #steps: Step[] = [];
  #outputs = new Map<string, Output & { readonly parts: Part[] }>();
  #items = new Map<string, { readonly outcome: Outcome; readonly at: string }>();
  #users: Output[] = [];
  #hasBegun = false;

  /** `hasItems`: the layout has an item for each call that Codex accepted. */
  constructor(builder: MessageBuilder, hasItems: boolean) {
    this.#builder = builder;
    this.#hasItems = hasItems;
  }

  /** A thought, which is not passed on: a response has the id of the first thing that is shown of it. */
  begin(id: string): void {
    this.#start(id);
  }

  addText(id: string, at: string, text: string): void {
    this.#start(id);
    this.#steps.push({ text, at });
  }

  addCall(id: string, at: string, call: ModelCall & { readonly callId: string }): void {
    this.#start(id);
    this.#steps.push({ call, at });
  }

  /** A search that the provider ran; `search` is its action as JSON. */
  addSearch(id: string, at: string, search: string): void {
    this.#start(id);
    this.#steps.push({ search, id, at });
  }

  addOutput(callId: string, output: Output): void {
    this.#isOver = true;
    const known = this.#outputs.get(callId);
    if (known === undefined) this.#outputs.set(callId, { ...output, parts: [...output.parts] });
    else for (const part of output.parts) known.parts.push(part);
  }

  addItem(callId: string, outcome: Outcome, at: string): void {
    this.#items.set(callId, { outcome, at });
  }

  /** What a person wrote follows the response and its results. */
  addUser(id: string, createdAt: string, parts: readonly Part[]): void {
    this.#isOver = true;
    this.#users.push({ id, createdAt, parts: parts.filter(hasContent) });
  }

  /** The response has ended: the next item of the model starts another one. */
  end(): void {
    this.#isOver = true;
  }

  /** Passes everything on. */
  close(): void {
    if (this.#id !== undefined) this.#write(this.#id);
    for (const { id, createdAt, parts } of this.#users) {
      this.#builder.user(id, createdAt, parts);
      this.#hasBegun ||= parts.length > 0;
    }
    this.#id = undefined;
    this.#steps = [];
    this.#outputs = new Map();
    this.#items = new Map();
    this.#users = [];
  }

  #start(id: string): void {
    if (!this.#isOver && this.#id !== undefined) return;
    this.close();
    this.#id = id;
    this.#isOver = false;
  }

  #write(id: string): void {
    // A search alone is no message: no API but the provider's own takes it back.
    if (!this.#steps.some((step) => 'call' in step || ('text' in step && step.text.trim() !== ''))) return;
    // A damaged file may have lost the first prompt, but a conversation starts with one.
    if (!this.#hasBegun) {
      const text = { type: 'text', text: BEGINNING_LEFT_OUT } as const;
      this.#builder.user(`${id}/beginning`, this.#steps[0]?.at ?? '', [text]);
    }
    this.#hasBegun = true;
    for (const step of this.#steps) {
      if ('text' in step) this.#builder.addPart(id, step.at, { type: 'text', text: step.text });
      else if ('call' in step) {
        const { callId, toolName: name, arguments: written } = step.call;
        this.#builder.call(id, step.at, { callId, name, arguments: written });
      } else {
        const call = { callId: step.id, name: 'web_search', arguments: step.search };
        this.#builder.call(id, step.at, { ...call, providerExecuted: { result: NOT_RECORDED } });
      }
    }
    for (const step of this.#steps) if ('call' in step) this.#writeResult(step.call);
  }

  #writeResult({ callId, toolName }: ModelCall & { readonly callId: string }): void {
    const output = this.#outputs.get(callId);
    const item = this.#items.get(callId);
    if (output) {
      const isError = isFailure(output.parts, { toolName, item: item?.outcome, hasItems: this.#hasItems });
      this.#builder.result(callId, { ...output, content: output.parts, isError });
    } else if (item) {
      const { outcome, at } = item;
      const content = outcome.parts ?? [{ type: 'text', text: outcome.output } as const];
      this.#builder.result(callId, { id: `result:${callId}`, createdAt: at, content, isError: outcome.isError });
    }
  }
}
