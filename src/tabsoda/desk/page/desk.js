// The shell of the desk: six steps as tabs, the running job, messages.

import { el } from "../shared/dom.js";
import { Refused, get, post } from "../shared/api.js";
import { keepFocus } from "./focus.js";
import { send } from "./upload.js";
import { runningJob } from "./jobs.js";
import { commandsBlock } from "./commands.js";

const STEPS = [
  ["open", "Open"], ["routing", "Routing"], ["impute", "Impute"],
  ["look", "Look"], ["analyse", "Analyse"], ["export", "Export"],
];
const $ = (id) => document.getElementById(id);
let current = "open";
let shown = 0;
let asked = 0;
let keys = {};
let watchers = [];
let jobs = "";
let before = Promise.resolve();
let refusals = 0;

const context = {
  project: null,
  // Requests. A change carries the version of the project that the page shows; `ask` needs none.
  api: {
    get,
    ask: (path, body) => reported(post(path, { version: context.project.version, ...body }), false),
    post: (path, body = {}) => inTurn(() => post(path, { version: context.project.version, ...body })),
    upload: (file, use, progress) => inTurn(() => send(file, use, context.project.version, progress)),
  },
  // Load the project again and show the current step anew.
  refresh: () => load().then(show),
  announce: (text) => { $("live").textContent = text; },
  // Show an error or a warning at the top until the next step is shown.
  warn: (text) => showMessage(text),
  // What the step does, as commands: {shell: [...], python: [...]}, or a request for them.
  commands: (content) => showCommands(content),
  // Keys of the step: {letter: function}.
  keys: (own) => { keys = own; },
  // Call a function with the list of jobs whenever it changes, while the step is shown.
  onJobs: (watch) => { watchers.push(watch); watch(context.project.jobs); },
  act: (action, id) => act(action, id),
};

async function showCommands(request) {
  const turn = ++asked;
  let content;
  try {
    content = await request;
  } catch {
    return; // The message is shown.
  }
  // Answers can overtake each other, and the step can change: only the latest request counts.
  if (turn !== asked) return;
  $("commands").hidden = !content;
  $("commands").replaceChildren(...(content ? commandsBlock(content, context) : []));
}

// Two quick changes of this tab do not contradict each other: the second one waits for the version
// that the first one makes. If another tab was faster, none of them is sent.
function inTurn(request) {
  const seen = refusals;
  const turn = before.then(() => {
    if (seen !== refusals) throw new Refused("Another tab was faster.", 409);
    return reported(request());
  });
  before = turn.catch(() => {});
  return turn;
}

async function reported(request, changes = true) {
  try {
    const answer = await request;
    // Only a change of this tab: what another tab has changed is not shown here yet.
    if (changes && typeof answer.version === "number") {
      context.project.version = answer.version;
      // An error of an earlier attempt is over.
      showMessage("");
    }
    return answer;
  } catch (error) {
    // Another tab was faster: show its change, then say so.
    if (error instanceof Refused && error.status === 409) {
      refusals += 1;
      await context.refresh();
    }
    showMessage(error.message);
    throw error;
  }
}

function showMessage(text) {
  $("banner").hidden = !text;
  $("banner").replaceChildren(el("span", {}, text),
    el("button", { type: "button", class: "small", onclick: () => showMessage("") }, "Dismiss"));
}

async function load() {
  let found;
  // An answer that was overtaken by a change of this tab would make the next change fail.
  do found = await get("project"); while (context.project && found.version < context.project.version);
  context.project = found;
  const { name, data, folder, jobs: list } = context.project;
  $("project-name").textContent = name;
  $("source").textContent = data ? `${data.name} · ${folder}` : folder;
  document.title = `${name} · TabSODA desk`;
  jobs = JSON.stringify(list);
  runningJob($("running"), list, context);
}

async function show() {
  const turn = ++shown;
  const step = STEPS.find(([id]) => id === window.location.hash.slice(1)) || STEPS[0];
  const moved = step[0] !== current;
  current = step[0];
  if (moved) {
    showMessage("");
    keys = {};
  }
  watchers = [];
  for (const link of $("tabs").querySelectorAll("a")) {
    if (link.dataset.step === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const root = el("div", { class: `step ${current}` }, el("h2", {}, step[1]));
  const slow = window.setTimeout(() => {
    if (turn === shown && (moved || !$("step").firstChild)) $("step").replaceChildren(el("p", { role: "status", class: "muted" }, "Reading …"));
  }, 300);
  try {
    const module = await import(`./${current}.js`);
    await module.show(root, contextOf(step[0]));
  } catch (error) {
    root.append(el("p", { class: "wrong", role: "alert" }, error.message));
  }
  window.clearTimeout(slow);
  // A slow step must not replace the one that was chosen later.
  if (turn !== shown) return;
  const restore = keepFocus($("step"));
  $("step").replaceChildren(root);
  $("step").dispatchEvent(new CustomEvent("shown"));
  if (!moved) restore();
  else {
    window.scrollTo(0, 0);
    $("step").focus({ preventScroll: true });
  }
}

// Without what a slow step would set after another one was chosen.
function contextOf(step) {
  const own = (set) => (value) => { if (step === current) set(value); };
  return Object.assign(Object.create(context), {
    keys: own(context.keys), commands: own(context.commands), onJobs: own(context.onJobs),
  });
}

async function act(action, id) {
  const answer = await context.api.ask("jobs", { action, id });
  accept(answer.jobs);
}

function accept(list) {
  const text = JSON.stringify(list);
  if (text === jobs) return;
  const ended = endedNow(JSON.parse(jobs), list);
  jobs = text;
  context.project.jobs = list;
  runningJob($("running"), list, context);
  for (const watch of watchers) watch(list);
  for (const job of ended) context.announce(`${job.title}: ${job.state}.`);
  if (ended.length) context.refresh();
}

function endedNow(before, after) {
  const open = new Set(before.filter((job) => isOpen(job)).map((job) => job.id));
  return after.filter((job) => open.has(job.id) && !isOpen(job));
}

function isOpen(job) {
  return ["waiting", "running", "paused", "stopping"].includes(job.state);
}

async function watchJobs() {
  try {
    accept((await get("jobs")).jobs);
  } catch (error) {
    if (error.status === 0) showMessage(error.message);
  }
  const busy = context.project.jobs.some(isOpen);
  window.setTimeout(watchJobs, document.hidden ? 4000 : busy ? 700 : 2500);
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea") || document.querySelector("dialog[open]")) return;
  // In a list, a letter chooses what begins with it.
  const begins = (option) => option.text.trim().toLowerCase().startsWith(event.key.toLowerCase());
  if (event.target.matches("select") && [...event.target.options].some(begins)) return;
  const number = Number(event.key);
  if (number >= 1 && number <= STEPS.length) window.location.hash = STEPS[number - 1][0];
  else if (event.key === "?") $("help").showModal();
  else if (keys[event.key]) keys[event.key](event);
  else return;
  event.preventDefault();
}

async function finish() {
  const open = context.project.jobs.filter(isOpen);
  const text = open.length ? ` ${open[0].title} continues.` : "";
  if (!window.confirm(`Close the desk?${text} Everything is saved.`)) return;
  await post("finish", {}).catch(() => {});
  document.body.replaceChildren(el("main", { class: "done" }, el("h1", {}, "Closed"),
    el("p", {}, "Open the project again with:"),
    el("pre", {}, `tabsoda desk ${context.project.folder}`)));
}

$("tabs").append(...STEPS.map(([id, name], place) => el("li", {},
  el("a", { href: `#${id}`, "data-step": id }, el("span", { class: "place" }, String(place + 1)), name))));
$("keys").addEventListener("click", () => $("help").showModal());
$("close-help").addEventListener("click", () => $("help").close());
$("finish").addEventListener("click", finish);
$("jump").addEventListener("click", (event) => { event.preventDefault(); $("step").focus(); });
document.addEventListener("keydown", press);
window.addEventListener("hashchange", () => { context.commands(null); show(); });
load().then(show).then(watchJobs, (error) => showMessage(error.message));
