import type { ConversationBlock } from 'holdfast/conversation';
import { createContext } from 'react';

/** Opens the dialog that forks the session at a block. Undefined where nothing can be forked, as in an exported file. */
export const ForkContext = createContext<((block: ConversationBlock) => void) | undefined>(undefined);
