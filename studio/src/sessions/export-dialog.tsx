import { useState } from 'react';
import { readFile, sessionPath } from '../api/server.ts';
import { AttemptProblem } from '../ui/attempt-problem.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useAttempt } from '../ui/use-attempt.ts';

const FORMATS = [
  ['html', 'HTML', 'one file that looks like this page and needs no network'],
  ['markdown', 'Markdown', 'to read, to paste and to compare'],
  ['json', 'JSON', 'the conversation as data'],
] as const;

/** Saves the conversation as a file. */
export function ExportDialog(props: {
  readonly id: string;
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}) {
  const { id, title, isOpen, onClose } = props;
  const [redact, setRedact] = useState(false);
  const attempt = useAttempt();
  const save = async (format: string): Promise<void> => {
    const query = new URLSearchParams({ format, ...(redact && { redact: 'true' }) });
    const saved = await attempt.run(async () => {
      const { content, extension } = await readFile(`${sessionPath(id, 'export')}?${query}`);
      saveFile(content, `${fileName(title)}.${extension}`);
    });
    if (saved) onClose();
  };
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Export the conversation">
      <AttemptProblem attempt={attempt} />
      <div className="flex flex-col gap-3 p-4">
        {FORMATS.map(([format, name, what]) => (
          <div key={format} className="flex items-center gap-3">
            <Button className="w-24 justify-center" disabled={attempt.isRunning} onClick={() => void save(format)}>
              {name}
            </Button>
            <span className="text-muted">{what}</span>
          </div>
        ))}
        <label className="mt-1 flex items-center gap-2">
          <input type="checkbox" checked={redact} onChange={({ target }) => setRedact(target.checked)} />
          Leave out what looks like a secret
        </label>
      </div>
    </Dialog>
  );
}

function fileName(title: string): string {
  const words = title
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  return words.join('-').slice(0, 60) || 'conversation';
}

function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still read it
}
