// Step 5, Analyse: pick columns, estimate, copy the result; sensitivity; kept analyses.

import { el } from "../shared/dom.js";
import { chosen, runSelect, stepJobs } from "./controls.js";
import { KINDS, form, requestBody, restore, state } from "./analyse_form.js";
import { resultCard } from "./analyse_result.js";
import { sensitivity } from "./analyse_sensitivity.js";

let asked = 0;
let last = null;

export async function show(root, context) {
  if (!context.project.runs.some((run) => run.finished)) {
    root.append(el("p", {}, "No run is finished yet. ", el("a", { href: "#impute" }, "Impute"), " first."));
    return;
  }
  const known = context.project.runs.some((run) => run.finished && run.name === chosen.run);
  const found = await context.api.get(`analyse?${new URLSearchParams(known ? { run: chosen.run } : {})}`);
  if (last && found.run !== chosen.run) last = null;
  chosen.run = found.run;
  const result = el("section", { class: "card result", "aria-label": "Result", hidden: true });
  const shifts = el("section", { class: "card", "aria-label": "Sensitivity" });
  const picker = el("section", { class: "card", "aria-label": "What to estimate" });
  const steps = { found, context, result, shifts, picker, estimate: () => estimate(steps, requestBody(found)) };
  draw(steps);
  root.append(
    el("div", { class: "fields" }, runSelect(found.runs, found.run, () => { last = null; context.refresh(); }),
      el("p", { class: "muted" }, `${found.draws} draws`)),
    picker, result, stepJobs(["sensitivity"], context), shifts, kept(steps));
  context.keys({ e: steps.estimate });
  if (last) fill(steps, last);
  else context.commands(null);
  sensitivity(shifts, steps, last);
}

function draw(steps) {
  const { picker, found } = steps;
  const kinds = el("div", { class: "kinds", role: "group", "aria-label": "Kind of estimate" },
    KINDS.map(([kind, text]) => el("button", { type: "button", "data-kind": kind,
      "aria-pressed": String(state.kind === kind), onclick: () => { state.kind = kind; draw(steps); focusKind(steps); } }, text)));
  picker.replaceChildren(kinds, ...form(found, () => draw(steps)).filter(Boolean),
    el("div", { class: "actions" },
      el("button", { type: "button", class: "main", id: "estimate", onclick: steps.estimate }, "Estimate ", el("kbd", {}, "e"))));
}

function focusKind({ picker }) {
  picker.querySelector("[aria-pressed=true]").focus();
}

async function estimate(steps, body) {
  const { context, result, found } = steps;
  const turn = ++asked;
  result.hidden = false;
  result.replaceChildren(el("p", { class: "muted", role: "status" }, "Estimating…"));
  let answer;
  try {
    answer = await context.api.ask("analyse/estimate", { ...body, run: found.run });
  } catch (error) {
    if (turn !== asked) return;
    last = null;
    // Once is enough, and next to the button.
    context.warn("");
    result.replaceChildren(el("p", { class: "wrong", role: "alert" }, error.message));
    return;
  }
  // A slower answer to an earlier request must not replace this one.
  if (turn !== asked) return;
  last = answer;
  context.warn("");
  fill(steps, last);
  sensitivity(steps.shifts, steps, last);
  context.announce(`${last.title}: ${last.rows.length} estimates.`);
}

function fill(steps, answer) {
  const { context, result, found } = steps;
  result.hidden = false;
  result.replaceChildren(...resultCard(answer, found.run, context),
    keepForm(answer, steps));
  context.commands(answer.commands);
}

function keepForm(answer, { context }) {
  const name = el("input", { class: "long", maxlength: 200, "aria-label": "Name of the analysis" });
  name.value = answer.title;
  return el("div", { class: "fields" },
    el("label", {}, el("span", {}, "Keep as"), name),
    el("button", { type: "button", id: "keep", onclick: () => context.api.post("analyse/keep",
      { request: answer.request, name: name.value }).then(() => {
      context.announce("The analysis is kept.");
      return context.refresh();
    }).catch(() => {}) }, "Keep"));
}

function kept(steps) {
  const { found, context } = steps;
  const places = new Map();
  const entry = (one) => {
    const place = el("div", { class: "result" });
    places.set(one.id, place);
    return el("li", { "data-kept": one.id }, el("div", { class: "kept-head" }, el("strong", {}, one.name),
      el("div", { class: "actions" },
        el("button", { type: "button", class: "small", onclick: () => { restore(one.request); draw(steps);
          steps.picker.scrollIntoView(); estimate(steps, { request: one.request }); } }, "Open"),
        el("button", { type: "button", class: "small", onclick: () => context.api.post("analyse/remove", { id: one.id })
          .then(() => context.refresh()).catch(() => {}) }, "Remove"))), place);
  };
  const again = async () => {
    for (const one of found.kept) {
      const place = places.get(one.id);
      place.replaceChildren(el("p", { class: "muted" }, "Estimating…"));
      try {
        const answer = await context.api.ask("analyse/estimate", { request: one.request, run: found.run });
        place.replaceChildren(...resultCard(answer, found.run, context, true));
      } catch (error) {
        place.replaceChildren(el("p", { class: "wrong" }, error.message));
      }
    }
    context.announce(`${found.kept.length} analyses were made on ${found.run}.`);
  };
  return el("section", { class: "card", "aria-label": "Kept analyses" },
    el("div", { class: "kept-head" }, el("h3", {}, "Kept analyses"),
      found.kept.length > 0 && el("button", { type: "button", id: "again", onclick: again }, `Make all on ${found.run}`)),
    found.kept.length
      ? el("ul", { class: "kept" }, found.kept.map(entry))
      : el("p", { class: "muted" }, "Analyses that you keep are made again after a new run, and exported as code."));
}
