// What to_html's page does: it draws the stages, equations and steps from the page's data, and links them.
#include "weft/library/view/view_json.h"

namespace weft::detail {

const std::string_view kViewScript = R"js('use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const esc = s => String(s).replace(/[&<>"']/g, c => ({'&':'&amp;','<':'&lt;','>':'&gt;','"':'&quot;',"'":'&#39;'}[c]));
const amount = (v, unit) => {
  if (v === null || v === undefined || !isFinite(v)) return '';
  const p = ['', 'k', 'M', 'G', 'T', 'P']; let k = 0;
  while (v >= 1000 && k < 5) { v /= 1000; ++k; }
  return (v >= 100 || v === Math.round(v) ? v.toFixed(0) : v.toPrecision(3)) + ' ' + p[k] + unit;
};
const seconds = t => t === null || t === undefined ? '' : t < 1e-6 ? (t*1e9).toFixed(0)+' ns' : t < 1e-3 ? (t*1e6).toPrecision(3)+' \u00b5s' : t < 1 ? (t*1e3).toPrecision(3)+' ms' : t.toPrecision(3)+' s';
const basename = p => p.slice(p.lastIndexOf('/') + 1);
const lineOf = e => e.l ? e.l.join(':') : null;

// Costs of steps: measured times, or the bytes that they are expected to move.
const measured = data.steps.some(s => s.time !== null);
const weightOf = s => measured ? (s.time || 0) : Math.max(s.bytes || 0, (s.flops || 0) / 8);
const total = data.steps.reduce((sum, s) => sum + weightOf(s), 0) || 1;
const share = k => weightOf(data.steps[k]) / total;
const last = data.shown;
const finalProgram = data.programs[data.stages[last].after];
// Lines are as hot as the steps that their equations are computed by.
const heatOfLine = {};
finalProgram.eqns.forEach(e => { const l = lineOf(e); if (l && e.k) heatOfLine[l] = Math.max(heatOfLine[l] || 0, ...e.k.map(share)); });
const heatOf = e => e.k ? Math.max(...e.k.map(share)) : 0;

const state = {stage: last, compare: false, graph: false, tab: 'Source', eqn: null, step: null, query: '', line: null, code: 'loops'};
const tabs = ['Source', 'Code', 'Steps', 'Equation', 'Arrays'];

function variable(name) { return /^[a-z]+$/.test(name) ? `<span class="v" data-v="${name}">${name}</span>` : `<span>${esc(name)}</span>`; }
function equationText(e) {
  const outs = e.o.map(([n, t]) => `${variable(n)}<span class="type">:${esc(t)}</span>`).join(' ');
  const params = e.a.length ? `<span class="params">[${e.a.map(([n, v]) => esc(n + '=' + (v.length > 90 ? v.slice(0, 88) + '\u2026' : v))).join(' ')}]</span>` : '';
  return `${outs}${outs ? ' = ' : ''}<span class="op ${e.f}">${esc(e.p)}</span>${params} ${e.i.map(variable).join(' ')}`;
}
function programHtml(p, path) {
  const head = (label, vs) => vs.length ? `<div class="head">${label} ${vs.map(([n, t]) => `${variable(n)}:${esc(t)}`).join(' ')}</div>` : '';
  const rows = p.eqns.map((e, i) => {
    const id = path.concat(i).join('.');
    const heat = heatOf(e), where = e.l ? `<span class="where">${esc(basename(data.files[e.l[0]].path))}:${e.l[1]}</span>` : '';
    const inner = (e.sub || []).map(([name, q], k) => `<div class="inner"><div class="name">${esc(name)}</div>${programHtml(q, path.concat(i, k))}</div>`).join('');
    return `<div class="eqn" data-id="${id}">${where}${heat > 0.004 ? `<span class="heat" title="${(100*heat).toFixed(1)} %" style="background:rgba(var(--hot),${(0.12+0.88*heat).toFixed(2)})"></span>` : ''}` +
      `${inner ? '<button class="fold" tabindex="-1" aria-label="fold">\u25be</button>' : ''}${equationText(e)}${e.s ? `<span class="scope">${esc(e.s)}</span>` : ''}${inner}</div>`;
  });
  return head('const', p.consts) + head('in', p.ins) + rows.join('') + `<div class="head">out ${p.outs.map(variable).join(' ')}</div>`;
}
function equationAt(program, id) {
  let p = program, e = null;
  const parts = id.split('.').map(Number);
  for (let k = 0; k < parts.length; k += 2) { e = p.eqns[parts[k]]; if (k + 1 < parts.length) p = e.sub[parts[k + 1]][1]; }
  return e;
}
const shape = e => e.p + '|' + e.o.map(o => o[1]).join() + '|' + (lineOf(e) || '');
function marksOf(one, other) {
  const left = {};
  other.eqns.forEach(e => left[shape(e)] = (left[shape(e)] || 0) + 1);
  return one.eqns.map(e => { if (left[shape(e)]) { --left[shape(e)]; return false; } return true; });
}

function drawStages() {
  $('stages').innerHTML = data.stages.map((s, i) => {
    const n = data.programs[s.after].eqns.length, before = s.before === null ? null : data.programs[s.before].eqns.length;
    return `<button data-stage="${i}" aria-current="${i === state.stage}">${esc(s.name)}<small>${before === null ? n : before + '\u2192' + n}</small></button>`;
  }).join('');
}
function drawPrograms() {
  const s = data.stages[state.stage];
  const box = $('programs');
  const shown = state.compare && s.before !== null ? [s.before, s.after] : [s.after];
  box.innerHTML = shown.map((p, k) => `<div class="program" data-program="${p}"><h2>${shown.length > 1 ? (k ? 'after ' : 'before ') : ''}${esc(s.name)}</h2>${programHtml(data.programs[p], [])}</div>`).join('');
  if (shown.length > 1) [0, 1].forEach(k => {
    marksOf(data.programs[shown[k]], data.programs[shown[1 - k]]).forEach((isNew, i) => {
      if (isNew) box.children[k].querySelector(`.eqn[data-id="${i}"]`).classList.add(k ? 'new' : 'gone');
    });
  });
  box.hidden = state.graph;
  $('graph').hidden = !state.graph;
  if (state.graph) $('graph').innerHTML = data.graphs[s.after] || '<p class="note">The program is too large to draw as a readable graph.</p>';
  applySearch();
  applyChoice(false);
}
function shownProgram(element) { return data.programs[Number(element.closest('.program').dataset.program)]; }

function applyChoice(scroll) {
  document.querySelectorAll('#programs .eqn').forEach(el => {
    const e = equationAt(shownProgram(el), el.dataset.id);
    const chosen = state.eqn !== null && el.dataset.id === state.eqn && Number(el.closest('.program').dataset.program) === state.program;
    const same = !chosen && ((state.line && lineOf(e) === state.line) || (state.step !== null && (e.k || []).includes(state.step)));
    el.classList.toggle('chosen', chosen);
    el.classList.toggle('same', Boolean(same));
    if (chosen && scroll) el.scrollIntoView({block: 'nearest'});
  });
}
function choose(program, id, scroll) {
  state.program = program; state.eqn = id;
  const e = id === null ? null : equationAt(data.programs[program], id);
  state.line = e ? lineOf(e) : null;
  if (e && e.k && e.k.length) state.step = e.k[e.k.length - 1];
  else if (e) {
    const match = finalProgram.eqns.find(f => f.k && f.k.length && lineOf(f) && lineOf(f) === lineOf(e) && f.p === e.p) || finalProgram.eqns.find(f => f.k && f.k.length && lineOf(f) && lineOf(f) === lineOf(e));
    state.step = match ? match.k[match.k.length - 1] : null;
  } else state.step = null;
  applyChoice(scroll); drawInspector();
}

function tabSource() {
  if (!data.files.length) return '<p class="note">The program has no lines of source.</p>';
  const made = {};
  data.programs.forEach(p => (function walk(q) { q.eqns.forEach(e => { if (e.l) made[lineOf(e)] = 1; (e.sub || []).forEach(s => walk(s[1])); }); })(p));
  return data.files.map((f, i) => {
    const numbers = Object.keys(f.lines).map(Number);
    if (!numbers.length) {
      const wanted = Object.keys(made).filter(l => l.startsWith(i + ':')).map(l => Number(l.split(':')[1])).sort((a, b) => a - b);
      return `<h3>${esc(f.path)}</h3><div class="source mono">${wanted.map(n => row(i, n, '')).join('')}</div>`;
    }
    return `<h3>${esc(f.path)}</h3><div class="source mono">${numbers.map(n => row(i, n, f.lines[n])).join('')}</div>`;
  }).join('');
  function row(i, n, text) {
    const key = i + ':' + n, heat = heatOfLine[key] || 0;
    return `<div class="${made[key] ? 'made' : ''} ${state.line === key ? 'chosen' : ''}" data-line="${key}"><span class="n">${n}</span><span class="heat-n" style="background:rgba(var(--hot),${heat > 0.004 ? (0.12+0.88*heat).toFixed(2) : 0})"></span>${esc(text)}</div>`;
  }
}
function stepNames(s) { return s.steps.length ? s.steps.flatMap(stepNames) : s.kind === 'kernel' ? [s.name] : []; }
function tabCode() {
  const s = state.step === null ? null : data.steps[state.step];
  const names = s ? [...new Set(stepNames(s))] : Object.keys(data.kernels.loops);
  const forms = [['loops', 'Loops'], ['llvm', 'LLVM'], ['asm', 'Assembly']].filter(([f]) => Object.keys(data.kernels[f]).length);
  const buttons = `<div class="tabs">${forms.map(([f, n]) => `<button data-code="${f}" aria-selected="${state.code === f}">${n}</button>`).join('')}</div>`;
  if (!names.length) return buttons + `<p class="note">${s ? esc(s.name) + ' is a routine, which has no code of its own here.' : 'There are no kernels.'}</p>`;
  return buttons + (s ? `<p class="note">${esc(s.name)}${s.time !== null ? ', ' + seconds(s.time) : ''}</p>` : '<p class="note">All kernels. Choose an equation or a step to see its own.</p>') +
    names.map(n => `<h3>${esc(n)}</h3><pre class="code">${esc(data.kernels[state.code][n] || data.kernels.loops[n] || '')}</pre>`).join('');
}
function tabSteps() {
  const c = data.cost, peaks = data.peaks;
  const roof = s => peaks && s.time ? Math.max(s.flops / peaks.flops, s.bytes / peaks.bytes) / s.time : null;
  const rows = data.steps.map((s, k) => `<tr class="step ${state.step === k ? 'chosen' : ''}" data-step="${k}" tabindex="0"><td>${esc(s.name)}</td>` +
    `<td><span class="bar" style="width:${(70*share(k)).toFixed(1)}px"></span> ${(100*share(k)).toFixed(0)} %</td>${measured ? `<td>${seconds(s.time)}</td>` : ''}<td>${amount(s.flops, 'FLOP')}</td><td>${amount(s.bytes, 'B')}</td>${peaks ? `<td>${roof(s) === null ? '' : (100*roof(s)).toFixed(0) + ' %'}</td>` : ''}</tr>`);
  return `<dl><dt>operations</dt><dd>${amount(c.flops, 'FLOP')}</dd><dt>read and written</dt><dd>${amount(c.bytes, 'B')}</dd><dt>arguments</dt><dd>${amount(c.arguments, 'B')}</dd>` +
    `<dt>results</dt><dd>${amount(c.results, 'B')}</dd><dt>temporaries</dt><dd>${amount(c.temporaries, 'B')}</dd></dl>` +
    (data.steps.length ? `<table><thead><tr><th>step</th><th>${measured ? 'share of time' : 'expected share'}</th>${measured ? '<th>time</th>' : ''}<th>operations</th><th>bytes</th>${peaks ? '<th>roofline</th>' : ''}</tr></thead><tbody>${rows.join('')}</tbody></table>` +
    (peaks ? `<p class="note">Roofline: ${amount(peaks.flops, 'FLOP/s')}, ${amount(peaks.bytes, 'B/s')} of memory; what is in caches may be faster.</p>` : '') : '<p class="note">The backend reports no steps for this program.</p>');
}
function tabEquation() {
  if (state.eqn === null) return '<p class="note">Choose an equation: click it, or move with j and k.</p>';
  const e = equationAt(data.programs[state.program], state.eqn);
  const steps = (e.k || (state.step === null ? [] : [state.step])).map(k => `<a href="#" data-step="${k}">${esc(data.steps[k].name)}</a>`).join(', ');
  return `<p class="mono">${equationText(e)}</p><dl><dt>kind</dt><dd>${esc(e.f)}</dd><dt>result</dt><dd>${e.o.map(o => esc(o[1])).join(', ') || 'none'}, ${amount(e.b, 'B')}</dd>` +
    `${e.l ? `<dt>line</dt><dd>${esc(data.files[e.l[0]].path)}:${e.l[1]}</dd>` : ''}${e.s ? `<dt>scope</dt><dd>${esc(e.s)}</dd>` : ''}${steps ? `<dt>computed by</dt><dd>${steps}</dd>` : ''}</dl>` +
    (e.a.length ? `<h3>Parameters</h3><dl class="mono">${e.a.map(([n, v]) => `<dt>${esc(n)}</dt><dd>${esc(v)}</dd>`).join('')}</dl>` : '');
}
function tabArrays() {
  return data.arrays.map(a => `<h3>${esc(a.name)}</h3><p class="note mono">${esc(a.type)}, ${amount(a.bytes, 'B')}${a.sharding ? ', ' + esc(a.sharding) : ''}</p>${a.svg ? `<div class="picture">${a.svg}</div>` : ''}`).join('') || '<p class="note">The program takes no arrays.</p>';
}
function drawInspector() {
  $('tabs').innerHTML = tabs.map((t, i) => `<button role="tab" data-tab="${t}" title="${i + 1}" aria-selected="${t === state.tab}">${t}</button>`).join('');
  const box = $('inspector');
  box.innerHTML = {Source: tabSource, Code: tabCode, Steps: tabSteps, Equation: tabEquation, Arrays: tabArrays}[state.tab]();
  if (state.tab === 'Source') {
    const at = box.querySelector('.chosen') || box.querySelector('.made');
    if (at) box.scrollTop = at.offsetTop - box.offsetTop - box.clientHeight / 3;
  } else box.scrollTop = 0;
}

let found = [], foundAt = -1;
function applySearch() {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  found = [];
  document.querySelectorAll('#programs .eqn').forEach(el => {
    el.classList.remove('found', 'hidden');
    if (!words.length) return;
    const e = equationAt(shownProgram(el), el.dataset.id);
    const text = [e.p, ...e.o.flat(), ...e.a.flat(), ...e.i, e.s || '', e.f, e.l ? basename(data.files[e.l[0]].path) + ':' + e.l[1] : ''].join(' ').toLowerCase();
    if (words.every(w => text.includes(w))) { el.classList.add('found'); found.push(el); }
  });
  if (words.length) document.querySelectorAll('#programs .eqn').forEach(el => {
    if (!el.classList.contains('found') && !el.querySelector('.found') && !(el.parentElement.closest('.eqn.found'))) el.classList.add('hidden');
  });
  foundAt = -1;
}
function nextFound() {
  if (!found.length) return;
  foundAt = (foundAt + 1) % found.length;
  const el = found[foundAt];
  for (let c = el.parentElement.closest('.eqn'); c; c = c.parentElement.closest('.eqn')) c.classList.remove('closed');
  choose(Number(el.closest('.program').dataset.program), el.dataset.id, true);
}
function move(step) {
  const all = [...document.querySelectorAll('#programs .eqn')].filter(el => el.offsetParent && !el.classList.contains('hidden'));
  const at = all.findIndex(el => el.classList.contains('chosen'));
  const el = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + step))];
  if (el) choose(Number(el.closest('.program').dataset.program), el.dataset.id, true);
}
function goStage(i) {
  state.stage = Math.max(0, Math.min(data.stages.length - 1, i));
  state.eqn = null;
  drawStages(); drawPrograms(); drawInspector();
}
function toggle(what) {
  state[what] = !state[what];
  $('compare').setAttribute('aria-pressed', state.compare);
  $('show-graph').setAttribute('aria-pressed', state.graph);
  drawPrograms();
}
function foldAll() {
  const all = [...document.querySelectorAll('#programs .eqn')].filter(el => el.querySelector(':scope > .inner'));
  const close = all.some(el => !el.classList.contains('closed'));
  all.forEach(el => el.classList.toggle('closed', close));
}
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem('weft-theme', theme); } catch (e) { /* a page from disk may have no storage */ }
}

document.addEventListener('click', event => {
  const t = event.target;
  const stage = t.closest('[data-stage]'), tab = t.closest('[data-tab]'), code = t.closest('[data-code]'), step = t.closest('[data-step]'), line = t.closest('[data-line]');
  if (stage) return goStage(Number(stage.dataset.stage));
  if (tab) { state.tab = tab.dataset.tab; return drawInspector(); }
  if (code) { state.code = code.dataset.code; return drawInspector(); }
  if (step) {
    event.preventDefault();
    state.step = Number(step.dataset.step); state.eqn = null; state.line = null;
    if (t.tagName === 'A') state.tab = 'Code';
    applyChoice(true); return drawInspector();
  }
  if (line && line.classList.contains('made')) {
    state.line = line.dataset.line; state.eqn = null; state.step = null;
    applyChoice(false);
    const first = document.querySelector('#programs .eqn.same');
    if (first) first.scrollIntoView({block: 'nearest'});
    document.querySelectorAll('.source .chosen').forEach(el => el.classList.remove('chosen'));
    line.classList.add('chosen');
    return;
  }
  if (t.classList.contains('fold')) { t.closest('.eqn').classList.toggle('closed'); t.textContent = t.closest('.eqn').classList.contains('closed') ? '\u25b8' : '\u25be'; return; }
  const eqn = t.closest('#programs .eqn');
  if (eqn) choose(Number(eqn.closest('.program').dataset.program), eqn.dataset.id, false);
});
document.addEventListener('mouseover', event => {
  const v = event.target.closest && event.target.closest('.v');
  document.querySelectorAll('.v.lit').forEach(el => el.classList.remove('lit'));
  if (v) { const box = v.closest('.program'); if (box) box.querySelectorAll(`.v[data-v="${v.dataset.v}"]`).forEach(el => el.classList.add('lit')); }
});
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const inSearch = event.target === $('search');
  if (event.key === 'Escape') {
    state.query = ''; $('search').value = ''; $('search').blur(); state.step = null; state.line = null; choose(null, null, false); return applySearch();
  }
  if (inSearch) { if (event.key === 'Enter') { event.preventDefault(); nextFound(); } return; }
  if (event.key === 'Enter' && event.target.matches('tr.step')) return event.target.click();
  const act = {j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), h: () => goStage(state.stage - 1), l: () => goStage(state.stage + 1),
    ArrowLeft: () => goStage(state.stage - 1), ArrowRight: () => goStage(state.stage + 1), '/': () => $('search').focus(), c: () => toggle('compare'), g: () => toggle('graph'),
    f: foldAll, t: () => $('theme').click(), '?': () => $('keys').showModal()}[event.key];
  if (act) { event.preventDefault(); return act(); }
  const number = Number(event.key);
  if (number >= 1 && number <= tabs.length) { state.tab = tabs[number - 1]; drawInspector(); }
});
$('search').addEventListener('input', () => { state.query = $('search').value; applySearch(); });
$('compare').onclick = () => toggle('compare');
$('show-graph').onclick = () => toggle('graph');
$('fold').onclick = foldAll;
$('help').onclick = () => $('keys').showModal();
$('theme').onclick = () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');

let theme = null;
try { theme = localStorage.getItem('weft-theme'); } catch (e) { /* as above */ }
setTheme(theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
$('title').textContent = data.title;
const time = data.steps.reduce((sum, s) => sum + (s.time || 0), 0);
const counted = (n, what) => n ? `${n} ${what}${n === 1 ? '' : 's'}` : '';
$('facts').textContent = [counted(finalProgram.eqns.length, 'equation'), counted(data.steps.length, 'step'), amount(data.cost.flops, 'FLOP'), amount(data.cost.bytes, 'B'), measured ? seconds(time) : ''].filter(Boolean).join('  \u00b7  ');
if (!data.files.some(f => Object.keys(f.lines).length)) state.tab = 'Steps';
drawStages(); drawPrograms(); drawInspector();
)js";

}  // namespace weft::detail
