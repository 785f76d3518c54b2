/** Events of the legacy layout that report what items report in the new one. */
import { asName, asObject, type Json } from '../../json-access.ts';

/** The item of an event: of `item_completed`, or of an older event that reports the same; `undefined` for any other event. */
export function itemOfEvent(event: Json): Json | undefined {
  const id = event.call_id;
  switch (event.type) {
    case 'item_completed':
      return asObject(event.item);
    case 'exec_command_end':
      return { ...event, type: 'CommandExecution', id };
    case 'patch_apply_end':
      return { ...event, type: 'FileChange', id, status: event.success === false ? 'failed' : 'completed' };
    case 'mcp_tool_call_end':
      return { ...asObject(event.invocation), ...event, type: 'McpToolCall', id, status: undefined };
    case 'view_image_tool_call':
      return { ...event, type: 'ImageView', id };
    case 'sub_agent_activity':
      return { ...event, type: 'SubAgentActivity', id: event.event_id ?? id };
    case 'collab_agent_spawn_end': {
      const thread = asName(event.new_thread_id);
      const receivers = thread === undefined ? [] : [thread];
      return {
        ...event,
        type: 'CollabAgentToolCall',
        id,
        tool: 'spawn_agent',
        status: undefined,
        receiver_thread_ids: receivers,
      };
    }
    case 'collab_waiting_end':
      return {
        ...event,
        type: 'CollabAgentToolCall',
        id,
        tool: 'wait',
        status: undefined,
        agents_states: event.statuses,
      };
    default:
      return undefined;
  }
}
