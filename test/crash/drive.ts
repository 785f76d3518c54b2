/**
 * One process of the crash matrix: drives a scenario on a store and is killed at the nth crash point, or ends and prints the final
 * conversation. The store is opened by the script that calls this.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AnySession,
  type ConversationMessage,
  openSession,
  type Store,
  type ToolContext,
  textOf,
} from '../../src/index.ts';
import { crashPoints, storeWithCrashPoints } from '../../src/testing/crash-points.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import type { Outcome } from './matrix.ts';
import { type Scenario, steps } from './scenario-parts.ts';
import { SCENARIOS } from './scenarios.ts';

/** The store that a scenario runs on. */
export interface CrashStore {
  readonly store: Store;
  /** After the store was closed: where a secret was found that must not be stored. */
  leaks(): Promise<readonly string[]>;
}

/** Drives the scenario that the arguments name: `<scenario> <directory> <crashAt>`. */
export async function driveScenario(open: (dir: string, scenario: Scenario) => Promise<CrashStore>): Promise<void> {
  const [name, dir = '.', crashAt = '0'] = process.argv.slice(2);
  const scenario = SCENARIOS.find((one) => one.name === name);
  if (!scenario) throw new Error(`no scenario "${name}"`);

  const effectsFile = join(dir, 'effects.log');
  const unknownFile = join(dir, 'unknown.log');
  const endedFile = join(dir, 'ended.json');
  const requestsFile = join(dir, 'requests.log');
  const givenFile = join(dir, 'given.log');
  const linesOf = (file: string): readonly string[] =>
    existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  const note = (file: string, line: string): void => appendFileSync(file, `${line}\n`, { flush: true });

  const points = crashPoints({ ...(Number(crashAt) > 0 && { crashAt: Number(crashAt) }) });
  const clock = fakeClock();
  const { store: raw, leaks } = await open(dir, scenario);
  /** Runs once, inside the next append of an event of this type: as a person in another process who is faster. */
  let meanwhile: { readonly type: string; readonly act: (session: AnySession) => Promise<void> } | undefined;
  const raced = new Proxy(raw, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      if (property !== 'append') return value.bind(target);
      return async (...args: Parameters<Store['append']>) => {
        const { type, act } = meanwhile ?? {};
        if (act && args[1].some((event) => event.type === type)) {
          meanwhile = undefined;
          await act(await openSession({ store: raw, id: 'crash', clock, ...scenario?.options }));
        }
        return target.append(...args);
      };
    },
  });
  const store = storeWithCrashPoints(raced, points);
  const session = await openSession({ store, id: 'crash', slices: [steps], clock, ...scenario.options });

  /** Calls that had their result before this process started: they must not act again. */
  const finished = session.state.record.messages
    .filter((message) => message.role === 'tool')
    .map(
      (message) => `crash/${message.evaluationId}/${message.turn}/${message.role === 'tool' ? message.toolCallId : ''}`,
    );
  const before = countOf(linesOf(effectsFile));

  await scenario.drive({
    session,
    dir,
    ended: (own) => writeFileSync(endedFile, JSON.stringify(reportOf(own))),
    clock,
    points,
    act(context: Pick<ToolContext, 'idempotencyKey'>) {
      points.pass('before effect');
      note(effectsFile, context.idempotencyKey);
      points.pass('after effect');
    },
    effects: () => linesOf(effectsFile).length,
    acted: (key) => linesOf(effectsFile).includes(key),
    meanwhile(type, act) {
      meanwhile = { type, act };
    },
    unknown: (callId) => note(unknownFile, callId),
    given: (what) => note(givenFile, what),
    asked: ({ prompt, turn, messages, evaluationId }) => {
      const nth = session.state.record.evaluations.indexOf(evaluationId);
      const said = messages.map((message) => [message.role, textOf(message), callsIn(message)]);
      const hash = createHash('sha256').update(JSON.stringify(said)).digest('hex').slice(0, 16);
      note(requestsFile, `${prompt.key} ${nth} turn ${turn}: ${hash}`);
    },
  });

  const after = countOf(linesOf(effectsFile));
  const outcome: Omit<Outcome, 'leaks'> = {
    points: points.passed,
    ...(existsSync(endedFile)
      ? (JSON.parse(readFileSync(endedFile, 'utf8')) as ReturnType<typeof reportOf>)
      : reportOf(session)),
    slice: session.select(steps).all(),
    effects: Object.fromEntries([...after].map(([key, count]) => [key.slice(key.indexOf('/', 6) + 1), count])),
    ranAgain: finished.filter((key) => after.get(key) !== before.get(key)),
    unknown: linesOf(unknownFile).length,
    requests: [...new Set(linesOf(requestsFile))].sort(),
    given: [...new Set(linesOf(givenFile))].sort(),
  };
  await session.close();
  await store.close();
  console.log(JSON.stringify({ ...outcome, leaks: await leaks() }));
}

function callsIn(message: ConversationMessage): readonly unknown[] {
  return message.role === 'assistant'
    ? (message.toolCalls ?? []).map(({ callId, name, arguments: args }) => [callId, name, args])
    : [];
}

function countOf(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

function reportOf(own: AnySession): Pick<Outcome, 'messages' | 'evaluations'> {
  const evaluations = own.state.record.evaluations.items.map((evaluation) => evaluation.status);
  return { messages: normalized(own), evaluations };
}

/** Every conversation's messages without seq, times and ids, results in call order. */
function normalized(own: AnySession): Outcome['messages'] {
  const conversations: Record<string, unknown[]> = {};
  const names = new Map<string, string>();
  const { evaluations } = own.state.record;
  evaluations.items.map((evaluation, i) => names.set(evaluation.id, `E${i}`));
  const rename = (text: string): string => text.replace(/ev_[\w-]+/g, (id) => names.get(id) ?? id);
  for (const evaluation of evaluations) {
    const messages = own.messages({ evaluationId: evaluation.id });
    const order = callOrder(messages);
    const sorted = messages.toSorted((a, b) => place(a, order) - place(b, order));
    conversations[rename(`${evaluation.conversationId}#${evaluation.id}`)] = sorted.map(
      ({ id: _, createdAt: __, evaluationId: ___, sequence: ____, conversationId: _____, ...rest }) => rest,
    );
  }
  return conversations;
}

function callOrder(messages: readonly ConversationMessage[]): ReadonlyMap<string, number> {
  const order = new Map<string, number>();
  messages.forEach((message, i) => {
    if (message.role !== 'assistant') return;
    order.set(`${message.turn}`, i);
    for (const [n, call] of message.toolCalls?.entries() ?? []) {
      order.set(`${message.turn}/${call.callId}`, i + (n + 1) / 100);
    }
  });
  return order;
}

function place(message: ConversationMessage, order: ReadonlyMap<string, number>): number {
  if (message.role === 'tool') return order.get(`${message.turn}/${message.toolCallId}`) ?? Number.POSITIVE_INFINITY;
  return message.role === 'assistant' ? (order.get(`${message.turn}`) ?? 0) : message.sequence;
}
