import { claudeAgentAdapter } from '../../src/claude-agent.ts';
import { claudeOptions } from './support/claude.ts';
import { killMatrix, momentsOf } from './support/kill-matrix.ts';

killMatrix({
  host: 'claude-host.ts',
  adapter: (place, machine) =>
    claudeAgentAdapter({
      ...claudeOptions(place),
      ...(machine === 'another machine' && { resumeValidation: 'relaxed' }),
    }),
  machines: ['same HOME', 'HOME wiped', 'another machine'],
  moments: momentsOf({
    ours: (name) => `mcp__holdfast__${name}`,
    shell: 'Bash',
    subagent: (prompt) => ({
      name: 'Agent',
      arguments: { description: 'sub', prompt, subagent_type: 'general-purpose', run_in_background: false },
    }),
  }),
});
