// Step: Routing. Mine rules, review them, propose edits.

import { el, number } from "../shared/dom.js";
import { jobList } from "./jobs.js";
import { sharesText, stateMap } from "./state_map.js";

const JOBS = ["mine", "edits"];

export async function show(root, context) {
  const content = await context.api.get("routing");
  context.commands(content.commands);
  if (!context.project.data) {
    root.append(el("p", { class: "muted" }, "Open a survey first."));
    return;
  }
  const list = el("ol", { class: "jobs", "aria-label": "Jobs of this step" });
  root.append(
    el("p", {}, "Many blanks are not missing answers: the questionnaire skipped the question. Rules state which. They are mined from the answers or read from a questionnaire file, and a person approves them."),
    rules(content, context), cells(content.cells), edits(content, context), list);
  context.onJobs((jobs) => jobList(list, jobs.filter((job) => JOBS.includes(job.kind)), context));
}

function rules(content, context) {
  const { rules: found } = content;
  const mine = async () => {
    const replace = found !== null;
    if (replace && !window.confirm("Replace the rules and all decisions on them? The old file is kept as rules.previous.toml.")) return;
    await context.api.post("routing/mine", { replace }).then(context.refresh, () => {});
  };
  const button = el("button", { type: "button", id: "mine", class: found ? null : "main", onclick: mine }, found ? "Mine again" : "Mine the rules");
  if (!found) return el("section", { class: "card", "aria-label": "Rules" }, el("h3", {}, "Rules"), el("p", {}, "There are no rules yet."), el("div", { class: "actions" }, button));
  const reviewed = found.approved + found.rejected;
  return el("section", { class: "card", "aria-label": "Rules" }, el("h3", {}, "Rules"),
    el("p", { id: "rules-text" }, `${number(found.all)} rules that skip ${number(found.targets)} questions: ${number(found.approved)} approved, ${number(found.rejected)} rejected, ${number(found.proposed)} not reviewed.`),
    el("progress", { max: Math.max(1, found.all), value: reviewed, "aria-label": "Rules reviewed" }),
    reviewer(content, context),
    el("div", { class: "actions" },
      el("a", { class: "button main", id: "review", href: "review/" }, found.proposed ? "Review the rules" : "Look at the rules"),
      found.proposed > 0 && el("button", { type: "button", id: "approve-all", onclick: () => approve(found, context) }, "Approve the rest without review"),
      button));
}

// What the rules make of the blanks.
function cells(found) {
  if (!found) return "";
  return el("section", { class: "card", "aria-label": "Cells with these rules" }, el("h3", {}, "Cells with these rules"),
    ...(found.error ? [el("p", { class: "wrong", role: "alert" }, found.error)] : [
      el("p", { id: "cells-text" }, `${sharesText(found.after)}. Without rules: ${sharesText(found.before)}.`),
      stateMap(`api/routing/map.png?${found.map}`, found.after, found.ticks),
      el("p", { class: "muted" }, "Rules that are not reviewed yet are included, rejected ones are not. Skipped cells stay empty; missing ones are imputed.")]));
}

function approve(found, context) {
  if (!window.confirm(`Approve ${found.proposed} rules that nobody has read?`)) return;
  context.api.post("routing/approve").then((answer) => {
    context.announce(`${answer.newly_approved} rules approved.`);
    return context.refresh();
  }, () => {});
}

function reviewer(content, context) {
  const name = el("input", { type: "text", id: "reviewer", value: content.reviewer, maxlength: 100,
    onchange: () => context.api.post("routing/reviewer", { reviewer: name.value }).then(() => context.announce("Name saved."), () => {}) });
  return el("div", { class: "fields" }, el("label", {}, "Decisions are signed by", name));
}

function edits(content, context) {
  const { edits: found } = content;
  const propose = () => context.api.post("routing/edits").then(context.refresh, () => {});
  const text = !found || !found.all ? "There are no edits yet."
    : `${number(found.all)} edits, ${number(found.approved)} of them approved. They are listed next to the rules on the review page.`;
  return el("section", { class: "card", "aria-label": "Edits" }, el("h3", {}, "Edits"),
    el("p", {}, "Edits are rules that the answers of a respondent satisfy together: the age at the first cigarette is at most the present age. Imputed answers satisfy the approved edits."),
    el("p", { id: "edits-text" }, text),
    el("div", { class: "actions" },
      el("button", { type: "button", id: "propose", onclick: propose }, "Propose edits"),
      content.rules && found && found.all > 0 && el("a", { class: "button", href: "review/" }, "Review them")));
}
