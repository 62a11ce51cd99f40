// Sensitivity: shift the imputed answers, and see whether the finding holds.

import { el } from "../shared/dom.js";
import { columnField, labelled, select } from "./controls.js";

const UNITS = [["", "usual unit"], ["sd", "standard deviations"], ["units", "units"], ["percent", "per cent"], ["levels", "levels"], ["odds", "log odds"]];
const shift = { column: "", level: "", low: "-1", high: "1", unit: "", answer: "0", term: "", null: "0" };

export function sensitivity(root, steps, answer) {
  const { found, context } = steps;
  root.replaceChildren(el("h3", {}, "Sensitivity"),
    el("p", { class: "muted" }, "Imputation assumes that those who did not answer resemble those who did, given their other "
      + "answers. Shift the imputed answers of a question, and see where the finding changes."),
    possible(answer) ? form(steps, answer)
      : el("p", { class: "muted" }, "Estimate a model, one mean or the shares of one question first, without groups."),
    ...found.sensitivity.map((one) => el("section", { class: "group result", "data-sensitivity": one.number },
      el("h4", {}, one.term),
      el("img", { alt: `The estimate of ${one.term} by the shift of the imputed answers; the text below has the numbers`,
        src: `api/analyse/sensitivity.svg?${new URLSearchParams({ run: found.run, number: one.number, at: one.text.length })}` }),
      el("pre", { tabindex: "0", "aria-label": `Sensitivity of ${one.term}` }, one.text))));
}

function possible(answer) {
  return answer && !answer.request.by && answer.request.of.length === 1
    && ["formula", "mean", "share"].includes(answer.request.kind);
}

function form(steps, answer) {
  const { found, context } = steps;
  const imputed = found.columns.filter((one) => one.imputed);
  const levels = el("span");
  const drawLevels = () => {
    const column = found.columns.find((one) => one.name === shift.column);
    const nominal = column && column.kind === "nominal";
    shift.level = nominal ? String(column.levels[0].code) : "";
    levels.replaceChildren(...(nominal ? [labelled("Odds of", select(column.levels.map((one) => [String(one.code), one.text]),
      shift.level, (level) => { shift.level = level; }))] : []));
  };
  drawLevels();
  const number = (key, text) => {
    const field = el("input", { type: "number", step: "any", oninput: () => { shift[key] = field.value; } });
    field.value = shift[key];
    return labelled(text, field);
  };
  const asked = answer.request.kind === "share" ? found.columns.find((one) => one.name === answer.request.of[0]) : null;
  const terms = answer.rows.map((row) => row[0]).filter((name) => name !== "Intercept");
  if (!terms.includes(shift.term)) [shift.term] = terms;
  return el("div", { class: "step" },
    el("div", { class: "fields" },
      labelled("Shift the imputed answers to", columnField(imputed, shift.column, (name) => { shift.column = name; drawLevels(); }, { id: "shift-column" })),
      levels, number("low", "from"), number("high", "to"),
      labelled("in", select(UNITS, shift.unit, (unit) => { shift.unit = unit; }))),
    el("div", { class: "fields" },
      asked && labelled("Share of", select(asked.levels.map((one, place) => [String(place), one.text]), shift.answer,
        (place) => { shift.answer = place; })),
      answer.request.kind === "formula" && labelled("Finding about", select(terms.map((name) => [name, name]), shift.term,
        (term) => { shift.term = term; })),
      number("null", "Compare with"),
      el("button", { type: "button", id: "shift", onclick: () => start(steps, answer, asked) }, "Shift")));
}

async function start({ found, context }, answer, asked) {
  if (!shift.column) { context.warn("Choose the question whose imputed answers are shifted."); return; }
  const target = shift.level ? `${shift.column}[${shift.level}]` : shift.column;
  const text = `${target}=${shift.low}..${shift.high}${shift.unit ? ` ${shift.unit}` : ""}`;
  const body = { run: found.run, request: answer.request, shifts: [text], null: Number(shift.null) || 0,
    term: answer.request.kind === "formula" ? shift.term : null,
    answer: asked ? asked.levels[Number(shift.answer) || 0].code : null };
  try {
    const queued = await context.api.post("analyse/sensitivity", body);
    await context.refresh();
    context.commands(queued.commands);
    context.announce("The sensitivity analysis is queued.");
  } catch {
    // The message is shown at the top.
  }
}
