/** Agents, models and stores for the tests of `agent.run`. */
import {
  type Agent,
  type AgentOptions,
  type ConversationMessage,
  createAgent,
  type Model,
  openSession,
  openStore,
  type Store,
  scriptedModel,
  textOf,
} from '../../../src/index.ts';
import { Life, World } from '../mortal.ts';

export const newestUser = (messages: readonly ConversationMessage[]): string => {
  const message = messages.findLast(({ role }) => role === 'user');
  return message ? textOf(message) : '';
};
export const echo = scriptedModel(({ messages }) => `You said: ${newestUser(messages)}`);
export const agentOf = (more: Partial<AgentOptions> = {}): Agent =>
  createAgent({ name: 'echo', model: echo, instructions: '', ...more } as AgentOptions);
export const oneCall = (name: string): Model =>
  scriptedModel(({ turn }) => (turn === 1 ? { toolCalls: [{ name, arguments: {} }] } : 'Done.'));
export const openMemory = async (options = {}) => (await openStore('memory:')).session('s', options);

/** A model whose responses wait until `go`. */
export function gate() {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const model: Model = {
    provider: 'test',
    modelId: 'test',
    async *stream({ messages, signal }) {
      begun.resolve();
      const aborted = new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      await Promise.race([released.promise, aborted]);
      const content = [{ type: 'text' as const, text: `You said: ${newestUser(messages)}` }];
      yield { type: 'finish', response: { content, toolCalls: [] } };
    },
  };
  return { model, begun: begun.promise, go: () => released.resolve() };
}

/** A store that calls `called` before each call of `method`, and `answered` before each of its results is given. */
export function watching(
  store: Store,
  method: keyof Store,
  { called, answered }: { called?: () => void; answered?: (args: readonly unknown[]) => unknown },
): Store {
  return new Proxy(store, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (property !== method) return value.bind(target);
      return async (...args: unknown[]) => {
        called?.();
        const result: unknown = await value.apply(target, args);
        await answered?.(args);
        return result;
      };
    },
  });
}

/** A session in whose evaluation by the agent "one" a process died. */
export async function leftRunning() {
  const world = new World();
  const life = new Life(world);
  const session = await openSession({ store: life.store, id: 's', clock: life.clock });
  const dying: Model = {
    provider: 'test',
    modelId: 'test',
    // biome-ignore lint/correctness/useYield: it dies before its first part
    async *stream() {
      await life.kill();
    },
  };
  void agentOf({ name: 'one', model: dying } as Partial<AgentOptions>).run(session, 'Hi.', { id: 'm1' });
  await life.died;
  await world.clock.advance(120_000); // its lease has expired
  return openSession({ store: world.store, id: 's', clock: world.clock });
}
