// The review page: its state, rendering, and the actions of keys and buttons.

import { get, post } from "./api.js";
import { el } from "./dom.js";
import { openEditor } from "./editor.js";
import { confirmAll, openRulesOfGates } from "./gate_groups.js";
import { loadEdits } from "./edit_list.js";
import { drawGraph } from "./graph.js";
import { patternsTable, ruleCard } from "./rule_card.js";

const $ = (id) => document.getElementById(id);
const FILTERS = {
  all: ["All", () => true],
  attention: ["Needs attention", (rule) => rule.status === "proposed" && rule.flags.length > 0],
  rivals: ["Has rivals", (rule) => rule.rivals.length > 0],
  proposed: ["Not reviewed", (rule) => rule.status === "proposed"],
  approved: ["Approved", (rule) => rule.status === "approved"],
  rejected: ["Rejected", (rule) => rule.status === "rejected"],
};
const DID = { approve: "approved", reject: "rejected", reopen: "reopened", note: "note saved" };

let review = null;
let selected = null;
let filter = "all";
let gate = null;
let patterns = { id: null, content: null };
// Notes that were typed and not saved yet, by rule.
const drafts = new Map();
let saving = false;

const reviewed = () => review.rules.filter((rule) => rule.status !== "proposed").length;
const ruleOf = (id) => review.rules.find((rule) => rule.id === id);

function shown() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  return review.rules.filter((rule) => {
    if (!FILTERS[filter][1](rule)) return false;
    if (gate !== null && rule.target !== gate && !rule.gates.includes(gate)) return false;
    const text = `${rule.id} ${rule.sentence} ${rule.label} ${rule.note} ${rule.flags.map((flag) => flag.kind).join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function render({ focus = false } = {}) {
  const rules = shown();
  if (!rules.some((rule) => rule.id === selected)) selected = rules[0]?.id ?? null;
  const texts = new Map(review.columns.map((column) => [column.name, column.label]));
  const actions = { select, decide, decideAll, chooseRival, edit, draft: (id, text) => drafts.set(id, text) };
  $("rules").replaceChildren(...rules.map((rule) => el("li", {}, ruleCard(rule, {
    selected: rule.id === selected,
    draft: drafts.get(rule.id),
    patterns: patterns.id === rule.id ? patterns.content : null,
    actions,
    siblings: (one) => openRulesOfGates(one, review.rules),
    textOf: (name) => texts.get(name) ?? "",
  }))));
  $("nothing").hidden = rules.length > 0;
  $("nothing").textContent = review.rules.length ? "No rule matches." : "There are no rules. Press w to write one.";
  renderHead(rules);
  renderGraph();
  const card = document.querySelector("[aria-current]");
  if (card) {
    if (focus) card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
  }
  loadPatterns();
}

function renderHead(rules) {
  const hidden = review.suppress_below > 1 ? ` Counts below ${review.suppress_below} are hidden.` : "";
  $("source").textContent = `${review.file} for ${review.source || "the survey"}, `
    + `${review.rows.toLocaleString("en-US")} respondents. You are ${review.by}.${hidden}`;
  $("progress-text").textContent = `${reviewed()} of ${review.rules.length} reviewed`;
  $("progress-bar").value = reviewed();
  $("progress-bar").max = Math.max(review.rules.length, 1);
  document.title = `${reviewed()}/${review.rules.length} reviewed · ${review.file}`;
  $("undo").disabled = !review.can_undo;
  $("filters").replaceChildren(...Object.entries(FILTERS).map(([name, [text, test]]) => el("button", {
    type: "button",
    "data-filter": name,
    "aria-pressed": name === filter ? "true" : "false",
    onclick: () => { filter = name; render(); },
  }, `${text} `, el("span", { class: "count" }, review.rules.filter(test).length))));
  $("gate-filter").hidden = gate === null;
  $("gate-filter").textContent = `Only ${gate} ✕`;
  const open = rules.filter((rule) => rule.status === "proposed");
  $("approve-shown").hidden = open.length < 2 || (filter === "all" && gate === null && !$("search").value);
  $("approve-shown").textContent = `Approve the ${open.length} shown`;
}

function renderGraph() {
  const rule = selected === null ? null : ruleOf(selected);
  $("graph").replaceChildren(drawGraph(review.graph, {
    statusOf: (id) => ruleOf(id)?.status ?? "",
    selected: rule && rule.status !== "rejected" ? rule : null,
    gate,
    choose: (name) => { gate = gate === name ? null : name; render(); },
  }));
  const frame = $("graph");
  const node = frame.querySelector(".node.on:last-of-type, .node.on");
  if (node && frame.scrollHeight > frame.clientHeight) {
    const top = node.getBoundingClientRect().top - frame.getBoundingClientRect().top;
    if (top < 0 || top > frame.clientHeight - 30) frame.scrollTop += top - frame.clientHeight / 3;
  }
}

async function loadPatterns() {
  const id = selected;
  if (id === null || patterns.id === id) return;
  patterns = { id, content: null };
  try {
    const content = await get(`patterns?id=${encodeURIComponent(id)}`);
    if (patterns.id !== id) return;
    patterns.content = content;
    // Redraw nothing else: the reviewer may be typing a note.
    $("patterns")?.replaceChildren(patternsTable(content));
  } catch (error) {
    showMessage(error.message);
  }
}

function select(id) {
  if (id === selected) return;
  selected = id;
  render({ focus: true });
}

function move(step) {
  const rules = shown();
  const place = rules.findIndex((rule) => rule.id === selected);
  const next = rules[Math.min(Math.max(place + step, 0), rules.length - 1)];
  if (next) { selected = next.id; render({ focus: true }); }
}

function accept(content) {
  review = content;
  patterns = { id: null, content: null };
}

function announce(text) {
  $("live").textContent = `${text} ${reviewed()} of ${review.rules.length} reviewed.`;
}

function showMessage(text, ...buttons) {
  $("banner").replaceChildren(el("span", {}, text), ...buttons,
    el("button", { type: "button", onclick: hideMessage }, "Close"));
  $("banner").hidden = false;
}

function hideMessage() {
  $("banner").hidden = true;
  $("banner").replaceChildren();
}

// Sends one change. If another reviewer was faster, shows their decisions and offers to retry.
async function change(path, body, did, after = () => {}) {
  if (saving) return false;
  saving = true;
  try {
    accept(await post(path, { ...body, version: review.version }));
    hideMessage();
    after();
    render({ focus: true });
    announce(did);
    return true;
  } catch (error) {
    if (error.status !== 409) { showMessage(error.message); throw error; }
    accept(await get("rules"));
    render();
    showMessage(`${error.message} You now see the newer decisions. Not saved: ${did}`,
      el("button", {
        type: "button", id: "again",
        onclick: () => change(path, body, did, after).catch(() => {}),
      }, "Apply it anyway"));
    return false;
  } finally {
    saving = false;
  }
}

function neighbour(id) {
  const rules = shown();
  const place = rules.findIndex((rule) => rule.id === id);
  return (rules[place + 1] ?? rules[place - 1])?.id ?? id;
}

async function decide(action, ids = [selected]) {
  if (selected === null) return;
  const single = ids.length === 1 ? ids[0] : null;
  const next = single !== null && (action === "approve" || action === "reject") ? neighbour(single) : selected;
  const note = single !== null ? drafts.get(single) : undefined;
  const what = single ?? `${ids.length} rules`;
  await change("decide", { ids, action, note }, `${what} ${DID[action]}.`, () => {
    for (const id of ids) drafts.delete(id);
    selected = next;
  }).catch(() => {});
}

function decideAll(action, name, ids) {
  if (confirmAll(action, name, ids.map(ruleOf))) decide(action, ids);
}

async function chooseRival(id, index) {
  await change("rival", { id, index }, `The conditions of ${id} were changed.`).catch(() => {});
}

function addRule() {
  const blank = { id: null, target: "", label: "", when: [] };
  openEditor($("editor"), blank, review.columns, async (when, why, target) => {
    const body = { target, when };
    if (why.trim()) body.note = why;
    await change("add", body, `A rule of ${target} was added.`, () => {
      filter = "all";
      gate = null;
      $("search").value = "";
      selected = review.added;
    });
  });
}

function edit() {
  const rule = ruleOf(selected);
  if (!rule) return;
  openEditor($("editor"), rule, review.columns, async (when, why) => {
    const body = { id: rule.id, when };
    if (why.trim()) body.note = why;
    await change("edit", body, `${rule.id} edited.`);
  });
}

async function undo() {
  await change("undo", {}, "The last change was undone.").catch(() => {});
}

async function finish() {
  const open = review.rules.length - reviewed();
  if (open && !window.confirm(`${open} rules are not reviewed yet. Finish anyway? All decisions are saved.`)) return;
  drafts.clear();
  const { next } = await post("finish", {}).catch(() => ({}));
  if (next) return window.location.assign(next);
  document.body.replaceChildren(el("main", { class: "done" }, el("h1", {}, "Done"),
    el("p", {}, `${reviewed()} of ${review.rules.length} rules are reviewed, all saved in ${review.file}. You can close this page.`)));
}

const KEYS = {
  j: () => move(1),
  ArrowDown: () => move(1),
  k: () => move(-1),
  ArrowUp: () => move(-1),
  a: () => decide("approve"),
  r: () => decide("reject"),
  o: () => decide("reopen"),
  e: edit,
  w: addRule,
  n: () => $("note")?.focus(),
  u: undo,
  "/": () => $("search").focus(),
  "?": () => $("help").showModal(),
};

function onKey(event) {
  if (document.querySelector("dialog[open]") || review === null) return;
  const typing = event.target.closest("input, textarea, select");
  if (typing) {
    if (event.key === "Escape") document.querySelector("[aria-current]")?.focus();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && typing.id === "note") decide("note");
    return;
  }
  const arrow = event.key.startsWith("Arrow");
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  // Arrows scroll as usual unless a rule has the focus; a held key acts only once.
  if ((arrow && !event.target.closest("article")) || (event.repeat && !"jk".includes(event.key) && !arrow)) return;
  event.preventDefault();
  KEYS[event.key]();
}

function approveShown() {
  const ids = shown().filter((rule) => rule.status === "proposed").map((rule) => rule.id);
  if (window.confirm(`Approve ${ids.length} rules at once?`)) decide("approve", ids);
}

document.addEventListener("keydown", onKey);
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => document.querySelector("[aria-current]")?.focus());
}
window.addEventListener("beforeunload", (event) => {
  const unsaved = [...drafts].some(([id, text]) => ruleOf(id) && text !== ruleOf(id).note);
  if (unsaved) event.preventDefault();
});
$("search").addEventListener("input", () => render());
$("undo").addEventListener("click", undo);
$("add").addEventListener("click", addRule);
$("keys").addEventListener("click", () => $("help").showModal());
$("close-help").addEventListener("click", () => $("help").close());
$("finish").addEventListener("click", finish);
$("gate-filter").addEventListener("click", () => { gate = null; render(); });
$("approve-shown").addEventListener("click", approveShown);
$("graph-panel").open = window.matchMedia("(min-width: 60rem)").matches;

get("rules").then((content) => { accept(content); render({ focus: true }); loadEdits($("edits-panel"), showMessage); }, (error) => showMessage(error.message));
