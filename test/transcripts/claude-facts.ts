/** The facts known about Claude Code's transcripts (1.0.24 to 2.1.325), beyond what its newest version writes in a quiet run. */
import { type TestOfFact, type TranscriptFact, testsIn } from './facts.ts';

const order = testsIn('transcripts/claude-order.test.ts');
const texts = testsIn('transcripts/claude-texts.test.ts');
const threads = testsIn('transcripts/claude-threads.test.ts');
const files = testsIn('importers/claude-code.test.ts');
const found = testsIn('importers/safe-reading.test.ts');
const kept = testsIn('importers/kept/import-files.test.ts');
const keptFound = testsIn('importers/kept/found.test.ts');

const agent = 'claude-code';
const fails = (fact: string, ...tests: readonly TestOfFact[]): TranscriptFact => ({
  agent,
  fact,
  tests,
  before: 'fails',
});

const UNTYPED = [
  'teammate-message',
  'bash-notification',
  'agent-notification',
  'ide_opened_file',
  'ide_selection',
  'user-prompt-submit-hook',
  'user-memory-input',
] as const;

const ATTACHMENTS = [
  'hook_success',
  'task_reminder',
  'edited_text_file',
  'diagnostics',
  'hook_additional_context',
  'goal_status',
  'plan_mode',
  'file',
] as const;

const bookkeeping = (...types: readonly string[]): TestOfFact => texts('%s is bookkeeping', ...types);
const emptyBox = (...rows: readonly string[]): TestOfFact => texts('%s becomes no block', ...rows);

export const CLAUDE_FACTS: readonly TranscriptFact[] = [
  // Order and branches
  fails(
    'A result can stand before the line of its call.',
    order('a result that stands before %s follows its call', 'its call', 'everything else'),
    order('the same holds in the file of a subagent'),
    order('a result that names a line which is in no file follows its call'),
    order('a result before its call is sent after it, in files without parents, too'),
  ),
  fails(
    'Lines follow the line that their parentUuid names, not the line before them.',
    order('a result that stands before %s follows its call', 'its call, and so does the response to it'),
  ),
  fails(
    'A call that is open when another message begins gets its result later.',
    order('a call that is open when another message begins gets its result later'),
  ),
  fails(
    'A rewind is a new prompt on an old parent, and leaves a dead branch.',
    order('a rewind whose new prompt follows a command supersedes the old branch'),
    order('removing 200 rewound branches of a long session keeps all other lines'),
  ),
  fails('A rewind to the first prompt has no parent.', order('a prompt without a parent rewinds to the first prompt')),
  {
    agent,
    fact: 'In old and cleaned files no line has a parent: prompts are in the order of the file.',
    tests: [order('a file in which every parent is %s stays in file order')],
    before: 'handled',
    guard: 'Branches: a prompt without a parent is a rewind only in a file with parents',
  },
  fails(
    'In files without parents the lines of a subagent are in the order of the file, too.',
    order('a subagent between the lines of such a file is one thread: every parent is %s'),
  ),
  fails(
    'After a second compaction the next prompt has a parent before the first one; no rewind crosses a compaction.',
    order('a prompt with a parent before the newest compaction is not a rewind'),
  ),
  fails('A prompt on a branch that looked dead revives it.', order('a prompt on a branch that looked dead revives it')),
  fails(
    'Two processes that write to one file interleave two branches, and both are real.',
    order('two processes that write to one file keep both branches: %s', 'prompts', 'responses'),
  ),
  fails(
    'A resumed session may write its lines again under other ids, with the same times and responses.',
    order('copies under other ids, with the same time and response, are shown and sent once'),
    order('copies of attachments, notices and compactions are shown and sent once'),
    order('a prompt that follows the copy of an earlier line rewinds to that line'),
    order('copies in the file of a subagent are shown once'),
  ),
  fails(
    'Two whole records may stand on one line.',
    order('two whole records on one line are both read'),
    order('a whole record before a torn one is read'),
    order('a record after %s line of progress, on the same line, is read', 'a whole', 'a torn'),
    files('records on one line are read from a file as from a text, also after a line of progress'),
    kept('search finds each of the records that stand on one line'),
  ),
  fails(
    'The first line can be longer than 64 kB.',
    found('a session whose first line is longer than a sample is found, with its title and times'),
    keptFound('a session of Claude Code whose first line is longer than a sample is found'),
  ),

  // What people typed, and what they did not
  fails(
    'A text that was typed while the agent worked may exist only as operations on a queue: enqueue, then remove.',
    texts('a queued text that the agent got is a prompt: removed %s', 'with the text', 'without it'),
    texts('queued texts leave the queue in their order, and by their text'),
  ),
  fails(
    'popAll takes queued texts back.',
    texts('a queued text that the user %s is no prompt, unlike one that the agent got', 'took back'),
    texts('a text that is queued after the user took the others back is the next one that the agent gets'),
  ),
  fails(
    'Later versions also write a line of the user.',
    texts(
      'a queued text that %s repeats is shown once, and one that nothing repeats is shown, too',
      'a user line before the operation',
      'a user line after it',
    ),
  ),
  ...UNTYPED.map((tag) =>
    fails(
      `No user typed <${tag}>, though it is in a line of the user.`,
      texts('%s is a notice, and the model gets it', `<${tag}…`),
    ),
  ),
  fails('Texts that no user typed make bad titles.', found('%s is no title', ...UNTYPED.map((tag) => `<${tag}…`))),

  // Subagents
  fails(
    'A subagent in the background has ended when it was collected with TaskOutput, and its output is there.',
    threads('one that is collected as %j ends as %j', 'All done', 'The answer', 'Oops'),
  ),
  fails(
    'agent-aprompt_suggestion-* is a request of the program, no subagent.',
    threads('agent-%s', 'aprompt_suggestion-1'),
    threads('%s between the lines of the session', 'aprompt_suggestion-1'),
    found('threads that the program starts for itself are not counted: %s'),
  ),
  fails(
    'agent-aside_question-* is a request of the program, no subagent.',
    threads('agent-%s', 'aside_question-2'),
    threads('%s between the lines of the session', 'aside_question-2'),
    found('threads that the program starts for itself are not counted: %s'),
  ),
  fails(
    'A thread with the prompt Warmup is the program’s own, no subagent.',
    threads('a warm-up %s', 'in a file', 'between the lines of the session'),
    found('threads that the program starts for itself are not counted: %s'),
  ),
  fails(
    'The text of a result may be all that names the agent of its call.',
    threads('by the id in the text of the result'),
  ),
  fails(
    'The run in the result of a workflow names its agents.',
    threads('by the run of a workflow: each of its agents ends with it'),
    kept('the agents of a workflow end with its run, in an imported session as in its files'),
  ),
  fails('The task of a notification may be all that names an agent.', threads('by the task of a notification')),
  fails(
    'A thread that nothing links and nothing ends is interrupted, not running, and is reported.',
    threads('a thread that nothing links and nothing ends is interrupted, and reported'),
  ),

  // Types of lines
  ...['pr-link', 'bridge-session', 'agent-name'].map((type) =>
    fails(`Lines of the type ${type} are bookkeeping.`, bookkeeping(type)),
  ),
  fails(
    'Thirteen more types that others noted are bookkeeping.',
    bookkeeping(
      'worktree-state',
      'content-replacement',
      'tag',
      'agent-color',
      'agent-setting',
      'relocated',
      'frame-link',
      'isolation-latch',
      'artifact-autoreact-ledger',
      'marble-origami-commit',
      'marble-origami-snapshot',
      'started',
      'result',
    ),
  ),
  fails('A content block of the type fallback is bookkeeping.', emptyBox('a switch of models')),
  fails('Bookkeeping is kept, though it is not shown.', kept('lines of bookkeeping are kept and not shown')),
  ...ATTACHMENTS.map((kind) =>
    fails(
      `The model saw attachments of the kind ${kind}.`,
      texts('the attachment %s is not shown, and the model gets it', kind),
    ),
  ),
  fails(
    'A document can be in a meta line.',
    texts('a document in a meta line is shown by its type, and the model gets it'),
  ),

  // Noise
  fails(
    'A third of the thoughts are empty.',
    emptyBox('an empty thought'),
    texts('the blocks of a response keep their ids when an empty one is left out (D46)'),
    texts('a streamed block that stays empty is removed: the stream ends in the state of the transcript (D47)'),
  ),
  fails(
    'A stop_hook_summary is empty unless a hook failed.',
    emptyBox('hooks without output'),
    texts('hooks that failed are shown with their errors'),
  ),
  fails('A turn_duration has no text.', emptyBox('a duration')),
  fails('Texts of the assistant can be blank.', emptyBox('a blank text')),
  fails(
    'An api_error has its text elsewhere than in content.',
    texts('the text of an API error %j is %s', 'API error 529: Overloaded', 'API error 400: Bad request', 'ECONNRESET'),
  ),
  fails('Commands are written as tags.', texts('%s is shown without tags')),
  fails(
    'Results can be empty, and can be sent all the same.',
    texts('%s can be sent', 'an empty result', 'a result without parts', 'a blank result'),
  ),
];
