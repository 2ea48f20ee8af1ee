/** How the survey looks: light and dark, from 320 pixels on. Pages set font and colours, `--treetop-…`. */

export const STYLE = `
:host { display: block; color-scheme: light dark; --ink: var(--treetop-ink, #1b2621); --soft: var(--treetop-soft, #56645d);
  --paper: var(--treetop-paper, #ffffff); --line: var(--treetop-line, #d5ddd8); --leaf: var(--treetop-accent, #1d6b45);
  --on-leaf: #ffffff; --coin: #a9b5af; --warm: #c4711b; --wash: #f3f6f4; --bad: #a4262c;
  color: var(--ink); font: 1rem/1.5 var(--treetop-font, system-ui, sans-serif); }
@media (prefers-color-scheme: dark) { :host { --ink: var(--treetop-ink, #e7ede9); --soft: var(--treetop-soft, #a3b1aa);
  --paper: var(--treetop-paper, #17201b); --line: var(--treetop-line, #34413a); --leaf: var(--treetop-accent, #6fcf9b);
  --on-leaf: #0c1610; --coin: #74827b; --warm: #f0a04b; --wash: #1e2923; --bad: #ff8f8f; } }
:host([hidden]) { display: none; }
section { box-sizing: border-box; max-width: 40rem; padding: clamp(1rem, 4vw, 1.75rem); border: 1px solid var(--line); border-radius: 14px;
  background: var(--paper); }
h2 { margin: 0 0 1rem; font-size: 1.35rem; line-height: 1.25; overflow-wrap: anywhere; }
p { margin: 0 0 .75rem; }
label, legend { font-weight: 600; }
fieldset { margin: 0; padding: 0; border: 0; min-width: 0; }
legend { padding: 0; margin-bottom: .35rem; }
.choices { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(8.75rem, 100%), 1fr)); gap: .5rem; }
.choices label { display: flex; gap: .6rem; align-items: center; padding: .65rem .8rem; border: 1px solid var(--line); border-radius: 10px;
  font-weight: 400; cursor: pointer; overflow-wrap: anywhere; }
.choices label:has(:checked) { border-color: var(--leaf); box-shadow: inset 0 0 0 1px var(--leaf); }
input[type=radio], input[type=checkbox] { accent-color: var(--leaf); width: 1.1rem; height: 1.1rem; margin: 0; flex: none; }
input[type=text] { box-sizing: border-box; width: 100%; margin-top: .35rem; padding: .7rem .8rem; font: inherit; color: inherit;
  background: var(--paper); border: 1px solid var(--soft); border-radius: 10px; }
.promise { margin: 1.25rem 0; padding: 1rem; border-radius: 10px; background: var(--wash); font-size: .95rem; }
figure { margin: .25rem 0 0; }
svg { display: block; width: 100%; max-width: 28rem; height: auto; }
.coin { fill: var(--coin); } .report { fill: var(--warm); } .wrong { fill: none; stroke: var(--coin); stroke-width: 1; }
.key { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; margin: .6rem 0 0; padding: 0; list-style: none; color: var(--soft); font-size: .85rem; }
.key li::before { content: ""; display: inline-block; width: .7rem; height: .7rem; margin-right: .4rem; border-radius: 50%; box-sizing: border-box; }
.key .coin::before { background: var(--coin); } .key .report::before { background: var(--warm); } .key .wrong::before { border: 1.5px solid var(--coin); }
.actions { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; margin-top: 1.25rem; }
button { padding: .7rem 1.3rem; font: inherit; font-weight: 600; border-radius: 10px; border: 1px solid var(--leaf); cursor: pointer; }
button.main { background: var(--leaf); color: var(--on-leaf); }
button.quiet { background: none; color: var(--leaf); }
@media (max-width: 30rem) { .actions button { flex: 1 0 auto; } }
button:disabled { opacity: .55; cursor: default; }
:focus-visible { outline: 3px solid var(--leaf); outline-offset: 2px; }
.choices label:focus-within:has(:focus-visible) { outline: 3px solid var(--leaf); outline-offset: 2px; }
.choices input:focus-visible { outline: none; }
[role=status]:empty { display: none; }
[role=status] { margin: 1rem 0 0; color: var(--soft); }
[role=alert]:empty { display: none; }
[role=alert] { margin: 1rem 0 0; color: var(--bad); overflow-wrap: anywhere; }
.done { display: flex; gap: .75rem; align-items: center; font-weight: 600; margin-bottom: .75rem; }
.done::before { content: "✓"; flex: none; display: grid; place-items: center; width: 2rem; height: 2rem; border-radius: 50%;
  background: var(--leaf); color: var(--on-leaf); }
details { margin-top: 1rem; } summary { cursor: pointer; color: var(--leaf); font-weight: 600; }
.bytes { width: 100%; margin-top: .75rem; border-collapse: collapse; font-size: .85rem; table-layout: fixed; }
caption { text-align: left; color: var(--soft); padding-bottom: .5rem; }
th { width: 4.2rem; text-align: left; vertical-align: top; font-weight: 600; } th, td { padding: .4rem .4rem .4rem 0; border-top: 1px solid var(--line); }
td code { display: block; overflow-wrap: anywhere; font: .85em/1.45 ui-monospace, monospace; } td span { color: var(--soft); }
.body code { color: var(--warm); }
.meta { margin: 1rem 0 0; color: var(--soft); font-size: .85rem; overflow-wrap: anywhere; }
`;
