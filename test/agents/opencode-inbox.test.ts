import { openCodeAdapter } from '../../src/opencode.ts';
import { inboxContract } from './support/inbox-contract.ts';
import { openCodeOptions } from './support/opencode.ts';

inboxContract({
  name: 'opencode',
  adapter: (place, options) => openCodeAdapter({ ...openCodeOptions(place), ...options }),
  ours: (name) => `holdfast_${name}`,
  shell: 'bash',
});
