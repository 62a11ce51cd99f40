// Step 4, Look: the report, its flags, observed against imputed by group, two runs side by side.

import { el } from "../shared/dom.js";
import { chosen, columnField, columnText, labelled, runSelect, scroller, select, stepJobs, table } from "./controls.js";
import { comparison, count, figure, legend, percentText } from "./comparison.js";

const state = { question: null, by: "", search: "", other: "", every: false, strata: "" };
let asked = 0;

export async function show(root, context) {
  if (!context.project.runs.some((run) => run.finished)) {
    root.append(el("p", {}, "No run is finished yet. ", el("a", { href: "#impute" }, "Impute"), " first."));
    return;
  }
  const known = context.project.runs.some((run) => run.finished && run.name === chosen.run);
  const found = await context.api.get(`look?${new URLSearchParams(known ? { run: chosen.run } : {})}`);
  chosen.run = found.run;
  context.commands(found.commands);
  const detail = el("section", { class: "card detail", "aria-live": "polite", "aria-label": "One question" });
  const parts = found.report
    ? [flags(found, context, detail), questions(found, context, detail)]
    : [el("p", { class: "warn" }, found.why === "absent" ? "This run has no report yet."
      : "The report on this run shows small counts, which this project withholds. Write it again.")];
  root.append(top(found, context), stepJobs(["report"], context), ...parts);
  if (found.runs.length > 1) root.append(sideBySide(found, context));
  if (found.report && state.question) await open(state.question, found, context, detail);
}

function top(found, context) {
  const groups = columnField(found.groups, state.strata, (name) => { state.strata = name; },
    { "aria-label": "Compare by groups of" });
  const write = el("button", { type: "button", id: "write-report", onclick: () => context.api.post("look/report",
    { run: found.run, strata: state.strata ? [state.strata] : [] }).then(() => context.refresh()).catch(() => {}) },
  found.report ? "Write the report again" : "Write the report");
  return el("section", { class: "card", "aria-label": "Report" },
    el("div", { class: "fields" },
      runSelect(found.runs, found.run, () => context.refresh()),
      found.report && el("a", { class: "button main", id: "open-report", target: "_blank", rel: "noopener",
        href: `api/look/report?${new URLSearchParams({ run: found.run })}` }, "Open the report"),
      labelled("Groups in the report", groups), write),
    found.report && counts(found.report));
}

function counts({ counts: all, draws, suppressed_below: below }) {
  const shown = [["Respondents", all.rows], ["Questions", all.questions], ["Answered", all.answered],
    ["Missing", all.missing], ["Skipped", all.skipped], ["Imputed", all.imputed], ["Draws", draws]];
  return el("dl", { class: "figures" }, shown.map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, count(value, below)))));
}

function flags(found, context, detail) {
  const { flags: all } = found.report;
  const known = new Set(found.report.questions.map((one) => one.name));
  const link = (name) => (known.has(name)
    ? el("button", { type: "button", class: "small", "data-question": name,
      onclick: () => open(name, found, context, detail, true) }, name)
    : el("code", {}, name));
  return el("section", { class: "card", "aria-label": "Flags" },
    el("h3", {}, all.length ? "Check before using the imputations" : "No warnings"),
    all.length
      ? el("ul", { class: "warnings" }, all.map((flag) => el("li", {}, el("p", {}, flag.text),
        flag.columns.length > 0 && el("p", { class: "actions" }, flag.columns.map(link)))))
      : el("p", { class: "muted" }, "That does not prove that the imputations are right."));
}

function questions(found, context, detail) {
  const { questions: all, suppressed_below: below } = found.report;
  const body = el("tbody");
  const rows = all.map((one) => el("tr", { "data-name": one.name },
    el("th", { scope: "row" }, el("button", { type: "button", class: "link", onclick: () =>
      open(one.name, found, context, detail) }, one.name), el("span", { class: "text" }, one.label)),
    el("td", {}, one.kind),
    el("td", { class: "number" }, count(one.imputed, below)),
    el("td", { class: "number" }, one.distance === null ? "–" : one.distance.toFixed(2))));
  const search = el("input", { type: "search", placeholder: "Search  ( / )", "aria-label": "Search questions",
    autocomplete: "off", oninput: () => { state.search = search.value; filter(); } });
  search.value = state.search;
  const filter = () => {
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    body.replaceChildren(...rows.filter((row, place) => {
      const text = `${all[place].name} ${all[place].label}`.toLowerCase();
      return words.every((word) => text.includes(word));
    }));
  };
  filter();
  body.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const buttons = [...body.querySelectorAll("button")];
    const next = buttons[buttons.indexOf(document.activeElement) + step];
    if (next) { next.focus(); event.preventDefault(); }
  });
  context.keys({ "/": () => search.focus() });
  return el("section", { class: "card", "aria-label": "Observed against imputed" },
    el("h3", {}, "Observed against imputed"),
    el("div", { class: "split" },
      el("div", { class: "list" }, search, scroller("Imputed questions", el("table", { class: "questions" },
        el("thead", {}, el("tr", {}, ["Question", "Kind", "Imputed", "Distance"].map((text, place) =>
          el("th", { scope: "col", class: place > 1 ? "number" : null }, text)))), body), "tall")),
      detail));
}

async function open(name, found, context, detail, scroll = false) {
  state.question = name;
  const turn = ++asked;
  let one;
  try {
    one = await context.api.get(`look/question?${new URLSearchParams({ run: found.run, name, by: state.by })}`);
  } catch (error) {
    if (turn !== asked) return;
    if (!state.by) { context.warn(error.message); return; }
    // The grouping may not exist in this run.
    context.warn(error.message);
    state.by = "";
    await open(name, found, context, detail, scroll);
    return;
  }
  // A slower answer to an earlier choice must not replace this one.
  if (turn !== asked) return;
  const below = one.suppressed_below;
  const groups = columnField(found.groups.filter((column) => column.name !== name), state.by, (by) => {
    if (by === state.by) return;
    state.by = by;
    open(name, found, context, detail);
  }, { id: "by-group" });
  detail.replaceChildren(
    el("h4", {}, columnText(one)),
    el("p", { class: "muted" }, `${count(one.states.answered, below)} answered, ${count(one.imputed, below)} imputed, `
      + `${count(one.states.skipped, below)} skipped`
      + (one.distance === null ? "" : `; distance ${one.distance.toFixed(2)}`)
      + (one.led_past ? `; skipped in ${percentText(one.led_past)} of the draws because of a drawn gate` : "")),
    legend(one), ...comparison(one, below), labelled("By groups of", groups),
    ...(one.strata || []).map((group) => el("section", { class: "group" },
      el("h4", {}, `${group.by}: ${group.group}`),
      el("p", { class: "muted" }, `${count(group.answered, below)} answered, ${count(group.imputed, below)} imputed`),
      ...comparison(group, below))));
  if (scroll) detail.scrollIntoView({ block: "nearest" });
  context.announce(`${name}: observed and imputed answers are shown.`);
}

function sideBySide(found, context) {
  const others = found.runs.filter((name) => name !== found.run);
  if (!others.includes(state.other)) state.other = "";
  const body = el("div", { class: "step" });
  const choice = select([["", "Choose a run"], ...others.map((name) => [name, name])], state.other, (name) => {
    state.other = name;
    fill();
  }, { id: "other-run" });
  const fill = async () => {
    if (!state.other) { body.replaceChildren(); return; }
    body.replaceChildren(el("p", { class: "muted" }, "Comparing…"));
    try {
      const both = await context.api.get(`look/compare?${new URLSearchParams({ first: found.run, second: state.other })}`);
      body.replaceChildren(...settings(both, fill), ...differences(both));
      context.announce(`${found.run} and ${state.other} are compared.`);
    } catch (error) {
      body.replaceChildren(el("p", { class: "wrong", role: "alert" }, error.message));
    }
  };
  if (state.other) fill();
  return el("section", { class: "card", "aria-label": "Two runs side by side" },
    el("h3", {}, "Two runs side by side"),
    el("div", { class: "fields" }, labelled(`Compare ${found.run} with`, choice)), body);
}

function settings(both, fill) {
  const differing = both.settings.filter((row) => row.differs);
  const shown = state.every ? both.settings : differing;
  const more = el("button", { type: "button", class: "small", onclick: () => { state.every = !state.every; fill(); } },
    state.every ? "Only what differs" : `All ${both.settings.length} settings`);
  return [el("div", { class: "fields" }, el("h4", {}, "How they were made"), more),
    shown.length
      ? table(["Setting", both.first, both.second], shown.map((row) => [row.what, row.first, row.second]),
        { left: 3, caption: "Settings, seeds, versions and files" })
      : el("p", { class: "muted" }, "The same settings, seed, versions and files.")];
}

function differences(both) {
  const value = (row, key) => (row.kind === "share" ? percentText(row[key]) : figure(row[key]));
  const rows = both.questions.slice(0, state.every ? undefined : 20).map((row) => [row.name, row.kind === "share" ? `share of ${row.level}` : "mean",
    value(row, "first"), value(row, "second"), row.size.toFixed(3), row.noise.toFixed(3)]);
  const lists = [[both.only_first, both.first], [both.only_second, both.second]].filter(([names]) => names.length);
  return [el("h4", {}, "What differs in the completed tables"),
    el("p", { class: "muted" }, "Means and shares over all respondents who were asked, averaged over the draws; of a question "
      + "with levels, the answer that differs most. Differences are in standard deviations of the answers, or of shares. "
      + "Noise is the difference to expect from random numbers alone; once or twice the noise means nothing."),
    table(["Question", "Estimate", both.first, both.second, "Difference", "Noise"], rows,
      { left: 2, caption: `The ${rows.length} largest differences of ${both.questions.length + both.left_out} questions` }),
    ...lists.map(([names, run]) => el("p", {}, `Only in ${run}: ${names.slice(0, 20).join(", ")}${names.length > 20 ? " and more" : ""}`))];
}
