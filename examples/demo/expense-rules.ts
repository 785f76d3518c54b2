/** The rules of the demo's first job: read the receipts, write the report, mail it. */
import type { ScriptedTurn } from 'holdfast';
import type { JobState } from './job-state.ts';

export const EXPENSE_REQUEST =
  'Please file my expenses: read the receipts, write report.md, and mail it to finance@example.com.';

export function expenseTurn({ turn, said }: JobState): ScriptedTurn {
  switch (turn) {
    case 1:
      return { text: 'Let me see what is here.', toolCalls: [{ name: 'list_files', arguments: {} }] };
    case 2: {
      const files = JSON.parse(said('list_files')[0] ?? '[]') as readonly string[];
      return {
        text: `${files.length} receipts. I will read them.`,
        toolCalls: files.map((file) => ({ name: 'read_file', arguments: { file } })),
      };
    }
    case 3: {
      const text = report(said('read_file'));
      return {
        text: 'Now I know enough to write the report.',
        toolCalls: [{ name: 'write_file', arguments: { file: 'report.md', text } }],
      };
    }
    case 4:
      return {
        text: 'Off to finance.',
        toolCalls: [{ name: 'send_mail', arguments: { to: 'finance@example.com', file: 'report.md' } }],
      };
    default:
      return `I read ${said('read_file').length} receipts, wrote report.md with a total of EUR ${total(said('read_file'))}, and mailed it to finance@example.com. Have a good trip home.`;
  }
}

function report(receipts: readonly string[]): string {
  const lines = receipts.map((receipt) => `- ${receipt.trim().replace('\n', ': ')}`);
  return `# Expenses\n\n${lines.join('\n')}\n\n**Total: EUR ${total(receipts)}**\n`;
}

function total(receipts: readonly string[]): string {
  return receipts.reduce((sum, receipt) => sum + Number(/EUR ([\d.]+)/.exec(receipt)?.[1] ?? 0), 0).toFixed(2);
}
