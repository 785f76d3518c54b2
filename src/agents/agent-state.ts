import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type AdapterStateType, defineAdapterState } from '../core/log/adapter-state.ts';
import type { AgentState } from './stateful-adapter.ts';

const TEXTS = [
  'sessionId',
  'createdAt',
  'lastActivityAt',
  'workspacePath',
  'promptNs',
  'promptKey',
  'promptHash',
] as const;

/** The state of one kind of agent: checked by hand, since every agent's has the same few fields (D25). */
export function defineAgentState<T extends AgentState>(adapterType: T['adapterType']): AdapterStateType<T> {
  const schema: StandardSchemaV1<unknown, T> = {
    '~standard': {
      version: 1,
      vendor: 'holdfast',
      validate: (value) => {
        const problem = problemOf(value);
        return problem ? { issues: [{ message: problem }] } : { value: value as T };
      },
    },
  };
  return defineAdapterState<T>({
    adapterType,
    schema,
    resumable: (state) => state.sessionId !== '' && !state.complete,
  });
}

function problemOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'it is not an object';
  const fields = value as Readonly<Record<string, unknown>>;
  const missing = TEXTS.find((name) => typeof fields[name] !== 'string');
  if (missing) return `${missing} is not text`;
  if (Number.isNaN(Date.parse(String(fields.lastActivityAt)))) return 'lastActivityAt is not a time';
  if (!Number.isSafeInteger(fields.messageCount)) return 'messageCount is not a count';
  return typeof fields.complete === 'boolean' ? undefined : 'complete is neither true nor false';
}
