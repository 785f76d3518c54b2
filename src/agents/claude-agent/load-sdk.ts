import { HoldfastError } from '../../core/errors.ts';
import type { ClaudeAgentSdk } from './sdk-types.ts';

const PACKAGE = '@anthropic-ai/claude-agent-sdk';
/** The first version whose session store and hooks are what the adapter relies on. */
const NEEDED = '0.3.325';

let loaded: Promise<ClaudeAgentSdk> | undefined;

/** The SDK: what the caller brought, or the installed package. Throws `DEPENDENCY_MISSING` when there is none that will do. */
export async function loadClaudeSdk(given?: ClaudeAgentSdk): Promise<ClaudeAgentSdk> {
  if (!given) loaded ??= importSdk();
  const sdk = given ?? (await loaded);
  if (typeof sdk?.query === 'function' && typeof sdk.foldSessionSummary === 'function') return sdk;
  throw new HoldfastError(
    'DEPENDENCY_MISSING',
    `this version of ${PACKAGE} has no session store; install ${PACKAGE}@${NEEDED} or newer`,
  );
}

async function importSdk(): Promise<ClaudeAgentSdk> {
  const name: string = PACKAGE; // not a literal: the compiler must not look for an optional peer
  try {
    return (await import(name)) as ClaudeAgentSdk;
  } catch (cause) {
    loaded = undefined;
    throw missing(cause);
  }
}

function missing(cause?: unknown): HoldfastError {
  return new HoldfastError('DEPENDENCY_MISSING', `the Claude Agent SDK is not installed: npm install ${PACKAGE}`, {
    cause,
  });
}
