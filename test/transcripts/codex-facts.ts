/** The facts known about Codex's rollouts (0.104.0 and 0.166.0) and about the stream of `codex exec --json`. */
import { type TestOfFact, type TranscriptFact, testsIn } from './facts.ts';

const homes = testsIn('importers/codex-homes.test.ts');
const files = testsIn('importers/codex.test.ts');
const items = testsIn('transcripts/codex-items.test.ts');
const thread = testsIn('transcripts/codex-thread.test.ts');
const legacy = testsIn('transcripts/codex-legacy.test.ts');
const past = testsIn('transcripts/codex-past.test.ts');
const agents = testsIn('transcripts/codex-subagents.test.ts');
const stream = testsIn('transcripts/codex-stream.test.ts');
const captures = testsIn('transcripts/codex-captures.test.ts');
const parity = testsIn('transcripts/codex-parity.test.ts');

/** Codex was not read at all before. */
const fact = (text: string, ...tests: readonly TestOfFact[]): TranscriptFact => ({
  agent: 'codex',
  fact: text,
  tests,
  before: 'fails',
});

const counted = captures('%s: the state shows every prompt, text, call, result, subagent and token once');
const notShown = (...rows: readonly string[]): TestOfFact => items('%s: the line is counted and not shown', ...rows);
const oneBlock = (...rows: readonly string[]): TestOfFact =>
  items('are one block when they have one id, in either order: %s', ...rows);
const ofCall = (...rows: readonly string[]): TestOfFact =>
  items('%s has the id of its call: one call and one result', ...rows);
const leftOut = (): TestOfFact => parity('$name is needed');

export const CODEX_FACTS: readonly TranscriptFact[] = [
  // On disk
  fact(
    'A thread is a file in sessions/YYYY/MM/DD, whose name has its start and its id.',
    files('lists the sessions of a home, without subagents, the newest first'),
  ),
  fact(
    'Archived threads are in archived_sessions.',
    files('compressed and archived sessions are listed and loaded by their id'),
    files('the past of a fork is found when its parent was archived or compressed'),
  ),
  fact(
    'The file of a reverted thread has the ids of the thread and of the rollout in its name.',
    files('a reverted thread is its newest rollout, with the past of the older one'),
  ),
  fact(
    'Files may be compressed.',
    files('compressed and archived sessions are listed and loaded by their id'),
    files('a compressed rollout that ends early gives what was unpacked, and reports it'),
  ),
  fact(
    'The databases beside the rollouts are derived from them.',
    homes('the databases that Codex derives from rollouts are no sessions, and nothing is missing without them'),
  ),
  fact(
    'history.jsonl holds typed prompts, not sessions.',
    homes('the history of prompts and the index of names are no sessions'),
  ),
  fact(
    'session_index.jsonl holds the names that people gave to threads.',
    files('a name that a person gave to a thread is its title'),
  ),
  fact(
    'No schema is promised: lines, items and events can be of any type.',
    thread('lines, items and events of unknown types are kept'),
    thread('a rollout of a newer layout is read as far as it can be, and reported'),
  ),
  fact(
    'Lines of the types turn_context, world_state, token_usage_record and inter_agent_communication_metadata have no content to show.',
    notShown(
      'the context of a turn',
      'the state of the world',
      'the use of tokens',
      'notes on messages between agents',
    ),
  ),
  fact(
    'The paginated layout has consecutive ordinals.',
    thread('a line with an ordinal that was read before is left out, wherever it stands'),
  ),
  fact(
    'The paginated layout has finished items of the screen beside the history.',
    counted,
    thread('an assistant’s item whose history line is missing is shown'),
  ),
  fact(
    'The legacy layout has no ordinals.',
    legacy('a copy of the line before is left out and reported'),
    agents('without ordinals, the copies end where a turn starts that is younger than the thread'),
  ),
  fact(
    'The legacy layout has the events user_message and agent_message.',
    legacy('texts that only events hold are shown once, in either order of event and item'),
  ),
  fact('The legacy layout has the event agent_reasoning.', legacy('a thought that an event repeats is shown once')),
  fact(
    'A newer version resumes a legacy file and keeps it legacy.',
    legacy('a file that a newer version resumed is still legacy, and its new prompts are prompts'),
  ),
  fact(
    'The session_id of a subagent is the id of its root.',
    homes('a thread with %s is a subagent, though it names the session of its root as its own', 'parent_thread_id'),
  ),
  fact(
    'A subagent names its parent in parent_thread_id, or in source.',
    homes(
      'a thread with %s is a subagent, though it names the session of its root as its own',
      'parent_thread_id',
      'source',
    ),
  ),
  fact(
    'Originator and source depend on the program that started the thread.',
    homes('a session that %s started is listed', 'codex_exec', 'codex-tui'),
  ),
  fact(
    'The first line has directory, version and branch.',
    homes('names the directory, the version, the session and the branch of what is exported'),
  ),
  fact('The model is in turn_context.', past('a response has the model of its turn')),

  // The history of the model
  fact(
    'Messages of the developer are instructions.',
    items('a message of the developer is shown as instructions, and not sent'),
  ),
  fact(
    'A text of the assistant has a phase: commentary or final_answer.',
    items('a text of either phase is shown and sent'),
  ),
  fact(
    'Reasoning has a summary, a content, or neither when it is encrypted.',
    items('reasoning is shown with %s, and never sent'),
  ),
  fact('The arguments of a call are a text.', items('the arguments of a call are the text %j')),
  fact('A tool can have a namespace.', thread('a call of the namespace %s has the name %s')),
  fact(
    'An output is a text or a list of parts.',
    items('an output is %s'),
    captures('an image that a tool returned is a part of its result'),
  ),
  fact(
    'The input of a custom tool is a text.',
    thread('a script is a call with its text, and the calls that it makes are shown between it and its output'),
  ),
  fact('A search of the provider has no output.', past('a search that the provider ran has no result')),
  fact('additional_tools holds the tools of a turn.', notShown('the tools of a turn')),
  fact(
    'agent_message is a text from one agent to another.',
    agents('the activity links the call, and the final message of the subagent ends it'),
  ),
  fact(
    'Messages, reasoning and searches are joined with their items by id.',
    oneBlock('AgentMessage', 'Reasoning', 'WebSearch'),
  ),
  fact(
    'Tools are joined with their items by call_id.',
    ofCall('CommandExecution', 'FileChange', 'McpToolCall', 'ImageView', 'CollabAgentToolCall'),
  ),
  fact(
    'The id of a UserMessage matches nothing: its message is the line before.',
    thread('the item after a prompt is the same prompt, though its text differs'),
  ),
  fact(
    'Items of the assistant come before the item of the history.',
    oneBlock('AgentMessage', 'Reasoning', 'WebSearch'),
  ),
  fact(
    'A turn has the events task_started and task_complete, whose error is that of the turn.',
    notShown('the start and the end of a turn'),
    thread('a refused request is an error of its turn'),
  ),
  fact(
    'An interrupted turn has the event turn_aborted.',
    thread('an interruption is shown and sent, instructions are neither prompts nor sent'),
  ),
  fact(
    'Usage is one record for each response.',
    thread('the usage of a response is counted once, however often its record is repeated'),
  ),
  fact('The usage of a thread does not include its children.', agents('each thread counts its own usage')),
  fact(
    'content_item_kinds has user.* for what a person wrote.',
    thread('an interruption is shown and sent, instructions are neither prompts nor sent'),
  ),
  fact(
    'In the legacy layout user_message repeats what a person wrote.',
    legacy('a text that an event repeats is a prompt, whatever it starts with'),
  ),
  fact(
    'Instructions, the environment, interruptions and summaries have the role of the user.',
    legacy(
      '%s is no prompt, also before any event was seen',
      'environment_context',
      'instructions',
      'turn_aborted',
      'compaction_summary',
    ),
  ),
  fact(
    'Notifications about subagents have the role of the user.',
    agents('a notification about an agent that is not known is shown as a notice, not as a prompt'),
  ),
  fact(
    'Images are between texts with image tags.',
    thread('a person’s images are attachments, without the tags around them'),
  ),

  // Tools
  fact(
    'The tools of MCP servers have the namespace mcp__<server>.',
    thread('a call of the namespace %s has the name %s', 'mcp__demo'),
  ),
  fact(
    'Older versions have shell_command, and MCP tools without a namespace.',
    legacy('events of old versions report failures and results'),
    counted,
  ),
  fact(
    'update_plan makes no item, only a todo_list in the stream.',
    thread('a call of %s without an item that returned %j failed: %s', 'Plan updated'),
    stream('each state of a plan is a call of update_plan, a repeated one is none'),
  ),
  fact(
    'Code mode is one tool whose input is a script.',
    thread('a script is a call with its text, and the calls that it makes are shown between it and its output'),
  ),
  fact(
    'The calls of a script are only items, between its call and its output.',
    captures('calls inside a script follow the call of the script, before its result'),
  ),
  fact('notify() adds a second output to a call.', thread('a second output of a call is added to the first')),
  fact(
    'All calls of a response come first, then their outputs in the same order.',
    items('the calls of a response are one message, and their results follow in the order of the calls'),
  ),
  fact(
    'A failed command has the status failed or an exit code.',
    thread('a command whose item is %s with the exit code %s has failed'),
  ),
  fact(
    'A failed MCP call has isError in its result.',
    items('a call of an MCP tool whose result is an error has failed'),
  ),
  fact(
    'A refused call has an output and no item, and is not in the stream.',
    thread('a call of %s without an item that returned %j failed: %s'),
    leftOut(),
  ),
  fact(
    'A command that goes on returns early; its item comes later, under the first call.',
    thread('a yielded command is one call: its item, which comes later, brings the whole output'),
  ),
  fact(
    'The output in the item of a command is cut to 64 KiB.',
    items('the result of a command is what the model got, though its item was cut on disk'),
  ),
  fact(
    'NUL and U+2028 occur inside lines.',
    files('lines end at \\\\n only: other line breaks and NUL inside a line stay'),
  ),

  // Subagents, forks, compactions
  fact(
    'A subagent is a rollout of its own.',
    captures('a subagent is nested under the call that started it, with its own thread and its result'),
    files('the subagent of a session is found in the folder of another day, and archived ones too'),
  ),
  fact(
    'Version 1: the output of spawn_agent has the id of the thread.',
    agents('a nested subagent is under the subagent that started it'),
  ),
  fact(
    'Version 1: the item of spawn_agent has the id of the thread.',
    agents('the item of a call links its thread when the output of the call is missing'),
  ),
  fact(
    'Version 1: the result is in the output of wait_agent, and again in a notification.',
    agents('a subagent whose rollout is missing ends with the result in %s', 'a call that waits', 'a notification'),
    agents('a result that a call returned is not sent again as a notification, one that it did not return is'),
  ),
  fact(
    'Version 2: the output is a path, and an activity has the id of the thread.',
    agents('the activity of a call links its thread, also without a path'),
    agents('a thread is linked by its path when no activity names it; the output was %j'),
    agents('a thread is linked by the path in the output of its call, which may differ from the name in its arguments'),
  ),
  fact(
    'Version 2: texts are agent messages, and tasks are encrypted.',
    agents('an encrypted message is shown without its text'),
  ),
  fact(
    'A subagent may start with copies of the lines of its parent, the first one too.',
    agents('the copied beginning of a subagent is not shown again'),
    agents('a subagent’s rollout that is opened as a session of its own shows what its model saw'),
  ),
  fact(
    'Subagents that run when the session ends are aborted.',
    agents('a subagent that was running when the session ended has failed'),
  ),
  fact(
    'A fork names the place in the file of its parent where its past ends.',
    past('a fork has the lines of its parent before an ordinal, and none after it'),
    files('a subagent that was started after the fork is not part of the fork'),
  ),
  fact(
    'A fork without the file of its parent has lost its past.',
    files('a fork whose parent is gone is read, and the loss is reported'),
  ),
  fact(
    'A fork of the legacy layout copies its past.',
    legacy('a fork holds copies of its past, with the first line of its parent'),
  ),
  fact(
    'The summary of a compaction is a message of the assistant, but no response to the user.',
    past('is one block, and its summary is no text of the assistant'),
  ),
  fact(
    'After a compaction the model sees the prompts and the summary.',
    past('is left out of the whole past, and replaces the past for a caller that starts from it'),
    thread('a compaction without a replacement history continues with the prompts and the summary'),
  ),
  fact('A compaction is not in the stream.', leftOut()),

  // The stream
  fact('The stream has items of nine types.', stream('an item of each type becomes blocks: %j')),
  fact('An error of the stream may be followed by a retry.', stream('a retry is a notice, a failed turn is an error')),
  fact(
    'The ids of items start again with each process.',
    stream('ids that restart with each process are different blocks'),
  ),
  fact(
    'The stream has no ids of turns and calls, no times, no messages of the user and no items of subagents.',
    parity('$version $folder'),
    leftOut(),
  ),
  fact('The item of a search has two ids.', stream('a search whose item has two ids is one call, of either id')),
  fact(
    'Usage is the total of the thread, also after a resume.',
    stream('usage is the thread’s total: each turn counts what it added, and a total that fell starts again'),
    parity('the usage of all turns is that of all responses, though the stream reports totals'),
  ),

  // Crash and resume
  fact(
    'A crash in mid-stream can leave a call and its item, but no output.',
    thread('a finished call whose output line is missing takes its result from its item'),
  ),
  fact(
    'A crash in mid-tool leaves a call without an output, and no marker.',
    thread('a call without any output ends as an error, and its message gets a placeholder'),
    captures('our own loop continues a session that was killed inside a tool (D50)'),
  ),
  fact(
    'Lines are whole, but for the last one.',
    files('a session that is being written is read up to its last whole line'),
  ),
  fact(
    'A resumed thread continues in its file; lines that cannot be parsed stay there.',
    past('a resumed thread continues in its file: a torn line between two processes stays there, and is skipped'),
    thread('torn, malformed and glued lines, NUL bytes and a lost first line are reported, the rest is read'),
  ),
  fact(
    'The request after a resume leaves out outputs without a call.',
    past('an output without its call is shown and not sent'),
  ),
  fact(
    'An interrupt writes the output "aborted by user" and a text.',
    thread('an interruption is shown and sent, instructions are neither prompts nor sent'),
  ),
  fact(
    'The stream of an interrupted process has no last event.',
    stream('the default reason of end is that of the newest turn, and push may follow end'),
    stream('a command without an end is an error when its process is replaced, and when the stream ends'),
  ),
  fact('A refused request is the error of its turn.', thread('a refused request is an error of its turn')),
];
