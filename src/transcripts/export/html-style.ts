/** How an exported conversation looks: quiet, readable, light or dark as the reader's system is, and fit to print. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --back: #fbfaf8; --page: #ffffff; --ink: #1f2328; --soft: #656d76; --line: #e2e0dc;
  --user: #eef4fb; --code: #f4f2ee; --accent: #2f6fb3; --bad: #b3372f; --wait: #9a6b00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #16181c; --page: #1c1f24; --ink: #e6e4e0; --soft: #979da6; --line: #33373e;
    --user: #202a36; --code: #14161a; --accent: #7fb2e8; --bad: #f08a80; --wait: #e0b45a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 50rem; margin: 0 auto; padding: 2.5rem 1.25rem 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 2rem; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 1rem; }
.block { margin: 0 0 1rem; }
article.block { padding: 0.9rem 1.1rem; border-radius: 12px; }
header, summary { display: flex; gap: 0.6rem; align-items: baseline; font-size: 0.8rem; color: var(--soft); }
header { margin-bottom: 0.25rem; }
header b { color: var(--ink); font-weight: 600; }
time { margin-left: auto; font-variant-numeric: tabular-nums; white-space: nowrap; }
.user { background: var(--user); }
.assistant { background: var(--page); border: 1px solid var(--line); }
.prose { white-space: pre-wrap; overflow-wrap: anywhere; }
.prose + .prose, .prose + pre, pre + .prose { margin-top: 0.75rem; }
code, pre { font: 0.85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.prose code, summary code { background: var(--code); border-radius: 5px; padding: 0.1em 0.35em; }
pre { margin: 0; padding: 0.75rem 0.9rem; background: var(--code); border-radius: 8px; overflow: auto; max-height: 32rem; }
pre code { white-space: pre-wrap; overflow-wrap: anywhere; }
details.block { border: 1px solid var(--line); border-radius: 10px; background: var(--page); }
summary { cursor: pointer; padding: 0.5rem 0.9rem; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before { content: "\\25b8"; }
details[open] > summary::before { content: "\\25be"; }
summary:hover { color: var(--ink); }
summary .name { overflow-wrap: anywhere; }
details[open] > summary { border-bottom: 1px solid var(--line); }
details.block > :not(summary) { margin: 0.75rem 0.9rem; }
.thinking .prose { color: var(--soft); font-style: italic; }
.tool summary code, .subagent summary code { color: var(--accent); font-weight: 600; }
.tool { margin-bottom: 0.35rem; }
.failed summary, [data-status="error"] > header b, [data-status="error"] > summary em { color: var(--bad); }
[data-status="pending"] > summary em { color: var(--wait); }
summary em { font-style: normal; }
.subagent .thread { border-left: 3px solid var(--line); padding-left: 1rem; }
.asked { color: var(--soft); }
.notice { font-size: 0.9rem; color: var(--soft); }
article.notice { padding: 0.4rem 0.9rem; border-left: 3px solid var(--line); border-radius: 0; }
article.error { border-left-color: var(--bad); color: var(--bad); }
figure { margin: 0.75rem 0 0; }
img { max-width: 100%; height: auto; border-radius: 8px; }
.attachment { font-size: 0.85rem; color: var(--soft); margin: 0.5rem 0 0; }
footer { max-width: 50rem; margin: 0 auto; padding: 0 1.25rem 2.5rem; color: var(--soft); font-size: 0.8rem; }
@media print { body { background: none; } pre { max-height: none; } .block { break-inside: avoid-page; } }
`;
