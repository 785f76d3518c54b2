import { openCodeAdapter } from '../../src/opencode.ts';
import { killMatrix, momentsOf } from './support/kill-matrix.ts';
import { openCodeOptions } from './support/opencode.ts';

/** OpenCode stores its sessions in its own database: without its HOME there is nothing to resume from. */
killMatrix({
  host: 'opencode-host.ts',
  adapter: (place) => openCodeAdapter(openCodeOptions(place)),
  machines: ['same HOME'],
  tellsInWords: true,
  isParallel: true,
  moments: momentsOf({
    ours: (name) => `holdfast_${name}`,
    shell: 'bash',
    subagent: (prompt) => ({ name: 'task', arguments: { description: 'sub', prompt, subagent_type: 'general' } }),
  }),
});
