/** An agent that streams all the time: parallel children, calls with progress, responses in small pieces. */
import { z } from 'zod';
import { createAdapter, definePrompt, type EvaluationResponse } from '../../../src/evaluate.ts';
import {
  type AnySession,
  defineSubagent,
  defineTool,
  type Model,
  type ModelPart,
  type ModelRequest,
  type ModelResponse,
  type ToolCall,
} from '../../../src/index.ts';

/** Called between any two pieces: waits, and may end the process. */
export type Between = () => Promise<void>;

const CHILDREN = ['ants', 'bees', 'crows'];
const WORDS = ['one ', 'two ', '𝟛 ', 'four\n', 'fünf ', '🙂🙃 ', 'seven, ', 'eight. '];

/** Runs or resumes the agent's only evaluation. */
export async function runAgent(session: AnySession, between: Between, parts = 40): Promise<EvaluationResponse> {
  const crunch = defineTool({
    name: 'crunch',
    description: 'Works and reports',
    input: z.object({ topic: z.string() }),
    effect: 'read',
    execute: async ({ topic }, ctx) => {
      for (let i = 1; i <= parts / 2; i++) {
        // Some reports are so long that the store drops the earlier ones.
        const text = i % 7 === 0 ? `${`${topic} ${i} `.repeat(2500)}\n` : `${topic}: step ${i}\n`;
        ctx.progress({ text, percent: i, ...(i % 5 === 0 && { data: { i } }) });
        await between();
      }
      return `crunched ${topic}`;
    },
  });
  const child = definePrompt({ ns: 'tail', key: 'child', instructions: 'Study it.', tools: [crunch] });
  const study = defineSubagent({ name: 'study', description: 'Studies', prompt: child });
  const lead = definePrompt({ ns: 'tail', key: 'lead', instructions: 'Lead.', tools: [study, crunch] });
  const adapter = createAdapter({ model: modelOf(between, parts), leaseTtlMs: 5000 });
  return adapter.evaluate(lead, { session, input: 'Go.', resume: 'auto', wait: true });
}

function modelOf(between: Between, parts: number): Model {
  return {
    provider: 'test',
    modelId: 'streamer',
    async *stream(request) {
      const { reasoning, text, toolCalls } = answerTo(request, parts);
      for (const delta of reasoning) yield* piece({ type: 'reasoning-delta', blockId: 'r', delta });
      // The inputs of parallel calls are interleaved.
      for (const half of [0, 1]) {
        for (const { callId, name: toolName, arguments: input } of toolCalls) {
          const delta = half === 0 ? input.slice(0, 6) : input.slice(6);
          yield* piece({ type: 'tool-input-delta', blockId: callId, toolName, delta });
        }
      }
      for (const delta of text) yield* piece({ type: 'text-delta', blockId: 't', delta });
      const content: ModelResponse['content'] = [
        { type: 'reasoning', text: reasoning.join('') },
        { type: 'text', text: text.join('') },
      ];
      yield { type: 'finish', response: { content, toolCalls } };
    },
  };

  async function* piece(part: ModelPart): AsyncIterable<ModelPart> {
    await between();
    yield part;
  }
}

/** The same response to the same request, in every process. */
function answerTo(
  { prompt, turn, messages }: ModelRequest,
  parts: number,
): {
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly toolCalls: readonly ToolCall[];
} {
  const topic =
    prompt.key === 'lead' ? 'everything' : JSON.stringify(messages.find(({ role }) => role === 'user')?.content);
  const say = (what: string, length: number): readonly string[] =>
    Array.from(
      { length },
      (_, i) => `${i === 0 ? `${what} about ${topic} in turn ${turn}: ` : ''}${WORDS[(i + turn) % WORDS.length]}`,
    );
  const crunches: ToolCall = { callId: `crunch_${turn}`, name: 'crunch', arguments: JSON.stringify({ topic }) };
  const studies = CHILDREN.map(
    (input): ToolCall => ({ callId: `study_${turn}_${input}`, name: 'study', arguments: JSON.stringify({ input }) }),
  );
  const last = prompt.key === 'lead' ? 3 : 2;
  const toolCalls = turn >= last ? [] : prompt.key === 'lead' && turn === 1 ? [...studies, crunches] : [crunches];
  return { reasoning: say('Thinking', 1 + parts / 8), text: say('Words', parts), toolCalls };
}
