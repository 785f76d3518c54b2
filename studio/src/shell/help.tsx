import { Dialog } from '../ui/dialog.tsx';
import { Kbd } from '../ui/kbd.tsx';
import { useAllCommands } from './commands.ts';

/** The keys that work on this page. */
export function Help({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const commands = useAllCommands().filter(({ keys }) => keys !== undefined);
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Keys on this page">
      <dl className="grid grid-cols-[1fr_auto] gap-y-1.5 overflow-y-auto px-4 py-3 outline-none" tabIndex={0}>
        {[
          ...commands,
          { id: 'palette', title: 'All commands and sessions', keys: 'Mod K' },
          { id: 'escape', title: 'Leave a field, close a dialog', keys: 'Escape' },
        ].map(({ id, title, keys = '' }) => (
          <div key={id} className="contents">
            <dt>{title}</dt>
            <dd className="justify-self-end">
              <Kbd keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
