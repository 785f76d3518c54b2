/** How an exported conversation looks: quiet, dense, light or dark as the reader's system is, and fit to print. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --back: #fcfbf9; --ink: #1f2328; --soft: #6a7079; --line: #e4e2de;
  --user: #eef3f9; --code: #f5f3ef; --accent: #2f6fb3; --bad: #b3372f; --added: #e3f2e1; --removed: #fae4e1;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #17191d; --ink: #e3e1dd; --soft: #959ba4; --line: #32363d;
    --user: #1f2833; --code: #1e2126; --accent: #7fb2e8; --bad: #f08a80; --added: #1d3324; --removed: #3d2323;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2rem 1.25rem 3rem; }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 0 0 0.75rem; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 2rem 0 0.75rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; margin: 0 0 1.75rem; font-size: 0.85rem;
  padding-bottom: 1rem; border-bottom: 1px solid var(--line); }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.block { margin: 0 0 0.3rem; }
article.block { padding: 0.6rem 0.85rem; margin: 0.9rem 0; border-radius: 8px; }
header, summary, .line { display: flex; gap: 0.6rem; align-items: baseline; font-size: 0.85rem; color: var(--soft); }
header { margin-bottom: 0.15rem; }
header b, .name b { color: var(--ink); font-weight: 600; }
time { margin-left: auto; font-size: 0.75rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
article.user { background: var(--user); }
article.user header b { color: var(--accent); }
article.assistant { padding-left: 0; padding-right: 0; }
.prose { white-space: pre-wrap; overflow-wrap: anywhere; }
.heading { font-weight: 600; }
.prose + *, .heading + *, pre + .prose, pre + .heading { margin-top: 0.55rem; }
code, pre { font: 0.8rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.prose code, .name code, td code { background: var(--code); border-radius: 4px; padding: 0.1em 0.3em; }
pre { margin: 0; padding: 0.6rem 0.75rem; background: var(--code); border-radius: 6px; overflow: auto; max-height: 36rem; }
pre code { white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: 0.88rem; margin-bottom: 0.55rem; }
th, td { text-align: left; vertical-align: top; padding: 0.2rem 0.6rem; border: 1px solid var(--line); overflow-wrap: anywhere; }
.added, .removed { display: block; margin: 0 -0.75rem; padding: 0 0.75rem; }
.added { background: var(--added); }
.removed { background: var(--removed); }
.place { color: var(--soft); }
summary { cursor: pointer; padding: 0.15rem 0; list-style: none; }
.line { padding: 0.15rem 0 0.15rem 1.1rem; }
summary::-webkit-details-marker { display: none; }
summary::before { content: "\\25b8"; width: 0.5rem; flex: none; }
details[open] > summary::before { content: "\\25be"; }
summary:hover, summary:focus-visible { color: var(--ink); }
.name { overflow-wrap: anywhere; min-width: 0; }
.name code { color: var(--accent); }
.name small { font-size: 0.75rem; }
.name em { font-style: normal; color: var(--bad); }
details.block > :not(summary) { margin-left: 1.1rem; }
details.block > :not(summary) + :not(summary) { margin-top: 0.4rem; }
details.block[open] { margin-bottom: 0.6rem; }
.detail { margin: 0 0 0.3rem; color: var(--soft); font-size: 0.85rem; }
.thinking .prose { color: var(--soft); }
.failed > summary .name, .failed.line .name { color: var(--bad); }
.result { margin-left: 1.1rem; }
ul { margin: 0; padding-left: 1.2rem; font-size: 0.88rem; }
li.done { color: var(--soft); text-decoration: line-through; }
li.current { font-weight: 600; }
.subagent > .thread { border-left: 2px solid var(--line); padding-left: 1rem; }
.asked { color: var(--soft); }
.notice { font-size: 0.85rem; color: var(--soft); }
article.notice { padding: 0.15rem 0.75rem; border-left: 2px solid var(--line); border-radius: 0; }
article.error { border-left-color: var(--bad); color: var(--bad); }
figure { margin: 0.6rem 0 0; }
img { max-width: 100%; height: auto; border-radius: 6px; }
.attachment { font-size: 0.85rem; color: var(--soft); margin: 0.4rem 0 0; }
@media (max-width: 40rem) { time { display: none; } .result { margin-left: 0; } }
@media print { body { background: none; font-size: 11pt; } pre { max-height: none; } .block { break-inside: avoid-page; } }
`;
