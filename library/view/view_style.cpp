// The style sheet of to_html's page.
#include "weft/library/view/view_json.h"

namespace weft::detail {

const std::string_view kViewStyle = R"css(
:root { --ground:#fbfcfd; --panel:#fff; --text:#1d2733; --quiet:#66727f; --line:#dfe4ea; --mark:#e8f0fe; --strong:#2563c9; --hot:220,95,20;
  --add:#e3f6e8; --gone:#fde8e6; --elementwise:#2f6fd0; --movement:#1c8b96; --reduction:#2a8a4a; --product:#c06a10; --indexing:#8a7410;
  --random:#b0418a; --control:#7b4fc4; --devices:#c23b4b; --external:#b0418a; }
[data-theme=dark] { --ground:#0f141a; --panel:#151b23; --text:#d7dee7; --quiet:#8b97a5; --line:#29323d; --mark:#1c2f4d; --strong:#6ea8ff;
  --hot:255,150,70; --add:#143320; --gone:#3d1c1c; --elementwise:#7fb0ff; --movement:#57c7d2; --reduction:#63cc87; --product:#f0a14a;
  --indexing:#d3bb4c; --random:#ec8ccb; --control:#b99bf5; --devices:#ff8a95; --external:#ec8ccb; }
* { box-sizing:border-box; } [hidden] { display:none !important; }
html, body { height:100%; margin:0; }
body { display:flex; flex-direction:column; background:var(--ground); color:var(--text); font:14px/1.45 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
code, pre, .mono { font-family:ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size:12.5px; }
header { display:flex; align-items:center; gap:10px; padding:8px 14px; background:var(--panel); border-bottom:1px solid var(--line); }
header h1 { font-size:16px; margin:0 8px 0 0; white-space:nowrap; overflow:hidden; text-overflow:ellipsis; max-width:30vw; }
header .facts { color:var(--quiet); flex:1; white-space:nowrap; overflow:hidden; text-overflow:ellipsis; }
button, input { font:inherit; color:inherit; background:var(--ground); border:1px solid var(--line); border-radius:6px; padding:3px 9px; }
button { cursor:pointer; } button:hover { border-color:var(--strong); } button[aria-pressed=true] { background:var(--mark); border-color:var(--strong); }
input { width:220px; }
:focus-visible { outline:2px solid var(--strong); outline-offset:1px; }
main { flex:1; min-height:0; display:grid; grid-template-columns:190px minmax(0,1fr) minmax(330px,40%); }
main > * { overflow:auto; min-height:0; }
nav { border-right:1px solid var(--line); padding:10px 8px; background:var(--panel); }
nav h2, .tabs + h2 { font-size:11px; text-transform:uppercase; letter-spacing:.06em; color:var(--quiet); margin:10px 6px 6px; }
nav button { display:block; width:100%; text-align:left; border-color:transparent; background:none; margin-bottom:2px; }
nav button small { color:var(--quiet); float:right; }
nav button[aria-current=true] { background:var(--mark); border-color:var(--strong); }
#programs { display:flex; align-items:stretch; }
.program { flex:1; min-width:0; overflow:auto; padding:10px 0 40px; }
.program + .program { border-left:1px solid var(--line); }
.program > h2 { font-size:12px; color:var(--quiet); font-weight:600; margin:0 16px 6px; }
.head { padding:1px 16px 1px 26px; color:var(--quiet); overflow-wrap:anywhere; }
.eqn { position:relative; padding:1px 12px 1px 26px; border-left:3px solid transparent; cursor:pointer; overflow-wrap:anywhere; scroll-margin:60px; }
.eqn:hover { background:color-mix(in srgb, var(--mark) 45%, transparent); }
.eqn.same { background:color-mix(in srgb, var(--mark) 70%, transparent); }
.eqn.chosen { background:var(--mark); border-left-color:var(--strong); }
.eqn.gone { background:var(--gone); } .eqn.new { background:var(--add); }
.eqn.hidden { display:none; }
.eqn.found .op { outline:1.5px solid rgb(var(--hot)); border-radius:3px; }
.heat { position:absolute; left:6px; top:3px; bottom:3px; width:11px; border-radius:2px; }
.type, .where { color:var(--quiet); } .where { float:right; font-size:11px; padding-left:12px; }
.scope { font-size:11px; color:var(--strong); border:1px solid var(--line); border-radius:4px; padding:0 4px; margin-left:6px; }
.op { font-weight:650; } .params { color:var(--quiet); font-size:11.5px; }
.v { border-radius:3px; padding:0 1px; } .v.lit { background:rgba(var(--hot),.25); }
.fold { position:absolute; left:9px; top:2px; width:14px; border:none; background:none; padding:0; line-height:1.3; color:var(--quiet); }
.inner { margin:2px 0 4px 10px; border-left:1px dashed var(--line); }
.closed > .inner { display:none; }
.inner > .name { color:var(--quiet); padding-left:14px; font-style:italic; font-size:12px; }
#graph { padding:16px; } #graph svg, .picture svg { max-width:100%; height:auto; }
.weft-plot { color:var(--text) !important; --back:var(--panel) !important; }
aside { border-left:1px solid var(--line); background:var(--panel); display:flex; flex-direction:column; }
.tabs { display:flex; gap:4px; padding:8px 10px; border-bottom:1px solid var(--line); position:sticky; top:0; background:var(--panel); z-index:1; flex-wrap:wrap; }
.tabs button { border-color:transparent; background:none; } .tabs button[aria-selected=true] { background:var(--mark); border-color:var(--strong); }
#inspector { padding:10px 12px 40px; overflow:auto; flex:1; }
#inspector h3 { font-size:13px; margin:14px 0 6px; } #inspector h3:first-child { margin-top:0; }
table { border-collapse:collapse; width:100%; } td, th { text-align:right; padding:3px 6px; border-bottom:1px solid var(--line); font-variant-numeric:tabular-nums; white-space:nowrap; }
th { color:var(--quiet); font-weight:600; font-size:12px; } td:first-child, th:first-child { text-align:left; white-space:normal; }
tr.step { cursor:pointer; } tr.step:hover, tr.step.chosen { background:var(--mark); }
.bar { display:inline-block; height:9px; border-radius:2px; background:rgb(var(--hot)); vertical-align:middle; }
.source { margin:0; } .source div { display:flex; white-space:pre; padding-right:10px; } .source .n { width:46px; flex:none; color:var(--quiet); text-align:right; padding-right:10px; user-select:none; }
.source .made { cursor:pointer; } .source .made .n { color:var(--strong); font-weight:600; } .source .made:hover { background:color-mix(in srgb, var(--mark) 45%, transparent); }
.source .chosen { background:var(--mark); }
.source .heat-n { width:6px; flex:none; margin-right:6px; border-radius:2px; }
#inspector .tabs { position:static; padding:0 0 8px; } pre.code { margin:0; white-space:pre; overflow:auto; tab-size:8; } pre.code .found { background:rgba(var(--hot),.3); }
dl { display:grid; grid-template-columns:max-content 1fr; gap:2px 12px; margin:0 0 10px; } dt { color:var(--quiet); } dd { margin:0; overflow-wrap:anywhere; }
.note { color:var(--quiet); } .picture { margin:6px 0 12px; }
dialog { background:var(--panel); color:var(--text); border:1px solid var(--line); border-radius:10px; padding:18px 24px; } dialog::backdrop { background:rgba(0,0,0,.35); }
kbd { border:1px solid var(--line); border-bottom-width:2px; border-radius:4px; padding:0 5px; font:12px ui-monospace, monospace; background:var(--ground); }
.legend { display:flex; flex-wrap:wrap; gap:4px 12px; margin:8px 0; font-size:12px; }
.op.elementwise { color:var(--elementwise); } .op.movement { color:var(--movement); } .op.reduction { color:var(--reduction); } .op.product { color:var(--product); }
.op.indexing { color:var(--indexing); } .op.random { color:var(--random); } .op.control { color:var(--control); } .op.devices { color:var(--devices); } .op.external { color:var(--external); }
@media (max-width:900px) { main { display:block; overflow:auto; } main > * { border:none; border-bottom:1px solid var(--line); } nav button { display:inline-block; width:auto; } header { flex-wrap:wrap; } }
@media print { header button, header input, nav { display:none; } main { display:block; } }
)css";

const std::string_view kViewBody = R"html(<header>
<h1 id="title"></h1><span class="facts" id="facts"></span>
<input id="search" type="search" placeholder="Search  ( / )" aria-label="Search">
<button id="compare" aria-pressed="false" title="Before and after side by side (c)">Compare</button>
<button id="show-graph" aria-pressed="false" title="As a graph (g)">Graph</button>
<button id="fold" title="Fold or unfold all programs within (f)">Fold</button>
<button id="theme" title="Light or dark (t)">Theme</button>
<button id="help" title="Keys (?)">?</button>
</header>
<main>
<nav aria-label="Stages"><h2>Program</h2><div id="stages"></div></nav>
<div><div id="programs" class="mono"></div><div id="graph" hidden></div></div>
<aside><div class="tabs" role="tablist" id="tabs"></div><div id="inspector"></div></aside>
</main>
<dialog id="keys"><h3>Keys</h3><dl>
<dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next and previous equation</dd>
<dt><kbd>h</kbd> <kbd>l</kbd></dt><dd>previous and next stage</dd>
<dt><kbd>/</kbd></dt><dd>search; <kbd>Enter</kbd> goes to the next one found</dd>
<dt><kbd>c</kbd></dt><dd>before and after side by side</dd>
<dt><kbd>g</kbd></dt><dd>the program as a graph</dd>
<dt><kbd>f</kbd></dt><dd>fold or unfold the programs within</dd>
<dt><kbd>1</kbd> ... <kbd>5</kbd></dt><dd>what the right side shows</dd>
<dt><kbd>t</kbd></dt><dd>light or dark</dd>
<dt><kbd>Esc</kbd></dt><dd>nothing chosen, nothing searched for</dd>
</dl><form method="dialog"><button>Close</button></form></dialog>
)html";

}  // namespace weft::detail
