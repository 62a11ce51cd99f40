// Step: Impute. What would be imputed, the choices of a run, and runs as jobs.

import { el, number } from "../shared/dom.js";
import { scroller } from "./controls.js";
import { duration, jobList } from "./jobs.js";

const QUALITIES = {
  fast: "fast: a first look", balanced: "balanced: the default", best: "best: slowest, most accurate",
  tiny: "tiny: only to try the page; poor estimates",
};
// Kept while the step is drawn anew, such as when a job ends.
let kept = null;

export async function show(root, context) {
  if (!context.project.data) {
    context.commands(null);
    root.append(el("p", { class: "muted" }, "Open a survey first."));
    return;
  }
  const content = await context.api.get("impute");
  const choice = { ...content.choice, ...kept };
  // A name that was typed stays until a run has it.
  if (context.project.runs.some((run) => run.name === choice.name)) choice.name = content.choice.name;
  const list = el("ol", { class: "jobs", "aria-label": "Runs in the queue" });
  const outcome = el("div", { class: "plan", role: "status" });
  context.commands(content.commands);
  root.append(form(content, choice, outcome, context), runs(context),
    el("section", { class: "card", "aria-label": "Jobs" }, el("h3", {}, "Jobs"), list,
      el("p", { class: "muted" }, "A job continues if you close the page or end tabsoda desk. A waiting job starts when the one before it ends, while the desk is open. A cancelled or interrupted run resumes from its last finished stage or draw.")));
  context.onJobs((jobs) => jobList(list, jobs, context));
  if (kept) refreshCommands(choice, context);
}

function refreshCommands(choice, context) {
  context.commands(context.api.ask("impute/commands", { choice }));
}

function form(content, choice, outcome, context) {
  const changed = () => { kept = { ...choice }; outcome.replaceChildren(); refreshCommands(choice, context); };
  const text = (name, label, attributes = {}) => {
    const box = el("input", { type: "text", id: `choice-${name}`, value: choice[name], ...attributes,
      onchange: () => {
        // An empty box is not 0 draws: the number before stays.
        if (!box.value.trim()) box.value = choice[name];
        choice[name] = attributes.type === "number" ? Number(box.value) : box.value.trim();
        changed();
      } });
    return el("label", {}, label, box);
  };
  const tick = (name, label) => {
    const box = el("input", { type: "checkbox", id: `choice-${name}`, checked: choice[name],
      onchange: () => { choice[name] = box.checked; changed(); } });
    return el("label", { class: "tick" }, box, label);
  };
  const quality = el("select", { id: "choice-quality", onchange: () => { choice.quality = quality.value; changed(); } },
    Object.entries(QUALITIES).map(([value, label]) => el("option", { value, selected: value === choice.quality }, label)));
  const plan = el("button", { type: "button", id: "plan", onclick: () => showPlan(choice, outcome, context, plan) }, "Plan");
  const start = el("button", { type: "button", class: "main", id: "start", onclick: () => {
    if (!occupy(start)) return;
    context.api.post("impute", { choice }).then(() => {
      // The next run has another name.
      if (kept) delete kept.name;
      context.announce("The run was started.");
      return context.refresh();
    }, () => release(start));
  } }, "Impute");
  return el("section", { class: "card", "aria-label": "A new run" }, el("h3", {}, "A new run"),
    el("div", { class: "fields" }, text("name", "Name"), el("label", {}, "Quality", quality),
      text("draws", "Draws", { type: "number", min: 0, max: 1000, step: 1 }), text("seed", "Seed", { type: "number", min: 0, step: 1 })),
    interactions(content, choice, changed),
    content.rules === null
      ? el("p", { class: "warn" }, "There are no routing rules. Every blank that no code marks as a skip would be imputed; see step 2.")
      : tick("use_rules", `Follow the ${number(content.rules)} routing rules`),
    content.unreviewed > 0 && tick("accept_all", `Use ${number(content.unreviewed)} rules that nobody has reviewed`),
    tick("ignore_design", "Do not use weights, strata and clusters as predictors"),
    el("div", { class: "actions" }, plan, start), outcome);
}

function interactions(content, choice, changed) {
  const chosen = el("ul", { class: "terms" });
  const options = () => content.questions.map((name) => el("option", { value: name }, name));
  const [first, second] = ["first", "second"].map((which) => el("select", { "aria-label": `${which} question of a term` }, options()));
  const lines = el("input", { type: "checkbox", id: "choice-straight_lines", checked: choice.straight_lines,
    onchange: () => { choice.straight_lines = lines.checked; changed(); } });
  const draw = () => chosen.replaceChildren(...choice.interactions.map((term) => el("li", {}, el("code", {}, term), " ",
    el("button", { type: "button", class: "small", "aria-label": `Remove ${term}`,
      onclick: () => { choice.interactions = choice.interactions.filter((one) => one !== term); changed(); draw(); } }, "Remove"))));
  const add = () => {
    const term = `${first.value}:${second.value}`;
    if (!choice.interactions.includes(term)) choice.interactions = [...choice.interactions, term];
    changed();
    draw();
  };
  draw();
  return el("details", { open: choice.interactions.length > 0 || choice.straight_lines }, el("summary", {}, "Interactions and curves"),
    el("p", { class: "muted" }, "Draws contain the interactions and curves that the answers show. Name those that your analysis will need in any case; a question by itself is a curve."),
    el("div", { class: "fields" }, first, el("span", { "aria-hidden": "true" }, "×"), second,
      el("button", { type: "button", id: "add-term", onclick: add }, "Add")), chosen,
    el("label", { class: "tick" }, lines, "Straight lines only"));
}

// Unlike a disabled button, it keeps the focus.
function occupy(button) {
  if (button.hasAttribute("aria-disabled")) return false;
  button.setAttribute("aria-disabled", "true");
  return true;
}

function release(button) {
  button.removeAttribute("aria-disabled");
}

async function showPlan(choice, outcome, context, button) {
  if (!occupy(button)) return;
  outcome.replaceChildren(el("p", { class: "muted" }, "Counting …"));
  try {
    const plan = await context.api.ask("impute/plan", { choice });
    outcome.replaceChildren(planned(plan));
  } catch { outcome.replaceChildren(); }
  release(button);
}

function planned(plan) {
  const rows = Object.entries(plan.variables).filter(([, one]) => one.to_impute !== 0);
  return el("div", {},
    el("p", { id: "plan-text" }, `${number(plan.to_impute)} of ${number(plan.cells)} cells would be imputed`
      + (plan.unresolved ? `, ${number(plan.unresolved)} of them imputed or skipped depending on an imputed answer` : "")
      + (plan.left_missing ? `; ${number(plan.left_missing)} stay missing because nobody answered` : "")
      + `. About ${duration(plan.seconds)} and ${(plan.memory_bytes / 1e9).toFixed(1)} GB of memory.`),
    el("details", {}, el("summary", {}, `${number(rows.length)} questions`),
      scroller("What would be imputed", el("table", {},
        el("tr", {}, ["Question", "Kind", "Answered", "Skipped", "To impute", "Unresolved"].map((text) => el("th", { scope: "col" }, text))),
        rows.slice(0, 2000).map(([name, one]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, one.kind),
          ["answered", "skipped", "to_impute", "unresolved"].map((key) => el("td", { class: "number" }, number(one[key])))))), "tall")));
}

function runs(context) {
  const finished = context.project.runs.filter((run) => run.finished);
  if (!finished.length) return "";
  return el("section", { class: "card", "aria-label": "Finished runs" }, el("h3", {}, "Finished runs"),
    scroller("Finished runs", el("table", { id: "runs" },
      el("tr", {}, ["Name", "Quality", "Draws", "Seed", "Report"].map((text) => el("th", { scope: "col" }, text))),
      finished.map((run) => el("tr", {}, el("th", { scope: "row" }, run.name), el("td", {}, run.quality || "–"),
        el("td", { class: "number" }, number(run.draws)), el("td", { class: "number" }, String(run.seed)),
        el("td", {}, el("a", { href: "#look" }, "Look")))))));
}
