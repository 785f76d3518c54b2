import type { StandardSchemaV1 } from '@standard-schema/spec';
import { HoldfastError, messageOf } from '../errors.ts';

/** The maximum size of a recorded adapter state, as JSON: ids and times, never a conversation (D25). */
export const MAX_ADAPTER_STATE_BYTES = 16_384;

/**
 * What an adapter needs to continue a conversation that it stores outside our log, tagged by its kind. An open union: unknown kinds stay
 * opaque.
 */
export interface AdapterState {
  readonly adapterType: string;
  readonly [field: string]: unknown;
}

/** One capture of adapter state. `supersedes` names the previous capture in the same evaluation. */
export interface AdapterStateSnapshot {
  readonly id: string;
  readonly evaluationId: string;
  readonly state: AdapterState;
  readonly resumable: boolean;
  readonly capturedAt: string;
  readonly supersedes?: string;
}

/** A kind of adapter state: its tag, its schema, and when an adapter can resume from it. */
export interface AdapterStateType<T extends AdapterState = AdapterState> {
  readonly adapterType: T['adapterType'];
  readonly schema: StandardSchemaV1<unknown, T>;
  readonly resumable: (state: T) => boolean;
  /** Validates a state: the right tag, the schema, the size. Throws `ADAPTER_STATE_INVALID`. */
  parse(value: unknown): T;
}

/** Adds a member to the open union of adapter states. */
export function defineAdapterState<T extends AdapterState>(options: {
  readonly adapterType: T['adapterType'];
  readonly schema: StandardSchemaV1<unknown, T>;
  readonly resumable: (state: T) => boolean;
}): AdapterStateType<T> {
  const { adapterType, schema, resumable } = options;
  const refuse = (why: string): never => {
    throw new HoldfastError('ADAPTER_STATE_INVALID', `adapter state "${adapterType}": ${why}`);
  };
  return {
    adapterType,
    schema,
    resumable,
    parse(value) {
      const result = schema['~standard'].validate(value);
      if (result instanceof Promise) return refuse('its schema is asynchronous; use a synchronous one');
      if (result.issues) return refuse(result.issues.map((issue) => issue.message).join('; '));
      if (result.value?.adapterType !== adapterType) return refuse(`adapterType is "${result.value?.adapterType}"`);
      const bytes = utf8Length(asJson(result.value, refuse));
      if (bytes > MAX_ADAPTER_STATE_BYTES) {
        return refuse(
          `${bytes} bytes; keep ids and times here (at most ${MAX_ADAPTER_STATE_BYTES}) and the rest elsewhere`,
        );
      }
      return result.value;
    },
  };
}

function asJson(value: unknown, refuse: (why: string) => never): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    return refuse(`it is not plain data (${messageOf(error)})`);
  }
}

/** The length of a text in bytes of UTF-8. */
function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}
