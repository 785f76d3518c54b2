import { claudeAgentAdapter } from '../../src/claude-agent.ts';
import { claudeOptions } from './support/claude.ts';
import { inboxContract } from './support/inbox-contract.ts';

inboxContract({
  name: 'claude',
  adapter: (place, options) => claudeAgentAdapter({ ...claudeOptions(place), ...options }),
  ours: (name) => `mcp__holdfast__${name}`,
  shell: 'Bash',
});
