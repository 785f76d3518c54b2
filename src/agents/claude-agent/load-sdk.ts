import { HoldfastError } from '../../core/errors.ts';
import { loadPackage } from '../load-package.ts';
import type { ClaudeAgentSdk } from './sdk-types.ts';

const PACKAGE = '@anthropic-ai/claude-agent-sdk';
/** The first version whose session store and hooks are what the adapter relies on. */
const NEEDED = '0.3.325';

/** The SDK: what the caller brought, or the installed package. Throws `DEPENDENCY_MISSING` when there is none that will do. */
export async function loadClaudeSdk(given?: ClaudeAgentSdk): Promise<ClaudeAgentSdk> {
  const advice = `the Claude Agent SDK is not installed: npm install ${PACKAGE}`;
  const sdk = given ?? (await loadPackage<ClaudeAgentSdk>(PACKAGE, advice));
  if (typeof sdk?.query === 'function' && typeof sdk.foldSessionSummary === 'function') return sdk;
  throw new HoldfastError(
    'DEPENDENCY_MISSING',
    `this version of ${PACKAGE} has no session store; install ${PACKAGE}@${NEEDED} or newer`,
  );
}
