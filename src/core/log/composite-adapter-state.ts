import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type AdapterState, type AdapterStateType, defineAdapterState } from './adapter-state.ts';

/** The tag of a state that contains the states of several adapters. */
export const COMPOSITE_STATE = 'composite';

/** The states of several adapters that worked on one conversation, by adapter type. */
export interface CompositeAdapterState extends AdapterState {
  readonly adapterType: typeof COMPOSITE_STATE;
  readonly states: Readonly<Record<string, AdapterState>>;
}

/** A kind of state that a composite may contain. */
interface MemberType {
  readonly adapterType: string;
  readonly resumable: (state: never) => boolean;
  parse(value: unknown): AdapterState;
}

/** Combines states, one per adapter type; of two states of one adapter the later one is used. */
export function composeAdapterStates(states: readonly AdapterState[]): CompositeAdapterState {
  const members = states.flatMap((state) => (isComposite(state) ? Object.values(state.states) : [state]));
  return {
    adapterType: COMPOSITE_STATE,
    states: Object.fromEntries(members.map((state) => [state.adapterType, state])),
  };
}

/** An adapter's own state: the given one, or the one that a composite contains for it. */
export function adapterStateFor(state: AdapterState, adapterType: string): AdapterState | undefined {
  if (state.adapterType === adapterType) return state;
  return isComposite(state) && Object.hasOwn(state.states, adapterType) ? state.states[adapterType] : undefined;
}

/**
 * The composite of the given kinds. Each member is validated by its own kind; members of other kinds stay opaque. An adapter can
 * resume from a composite if it can resume from one of the members; an opaque member counts as resumable.
 */
export function defineCompositeState(types: readonly MemberType[]): AdapterStateType<CompositeAdapterState> {
  const typeOf = ({ adapterType }: AdapterState): MemberType | undefined =>
    types.find((type) => type.adapterType === adapterType);
  const schema: StandardSchemaV1<unknown, CompositeAdapterState> = {
    '~standard': {
      version: 1,
      vendor: 'holdfast',
      validate: (value) => {
        if (!isComposite(value)) return { issues: [{ message: 'it has no states by adapter type' }] };
        const members = Object.entries(value.states);
        const misnamed = members.find(([name, state]) => state?.adapterType !== name);
        if (misnamed) return { issues: [{ message: `the state of "${misnamed[0]}" is not of that adapter` }] };
        return { value: composeAdapterStates(members.map(([, state]) => typeOf(state)?.parse(state) ?? state)) };
      },
    },
  };
  return defineAdapterState<CompositeAdapterState>({
    adapterType: COMPOSITE_STATE,
    schema,
    resumable: ({ states }) => Object.values(states).some((state) => typeOf(state)?.resumable(state as never) ?? true),
  });
}

function isComposite(value: unknown): value is CompositeAdapterState {
  if (typeof value !== 'object' || value === null || !('states' in value) || !('adapterType' in value)) return false;
  return value.adapterType === COMPOSITE_STATE && typeof value.states === 'object' && value.states !== null;
}
