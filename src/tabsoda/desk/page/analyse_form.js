// The form of an analysis: what to estimate, for whom, by group, with which design.

import { el } from "../shared/dom.js";
import { columnField, labelled, select, tick } from "./controls.js";

export const KINDS = [["mean", "Means"], ["share", "Shares"], ["table", "Table"], ["quantile", "Quantiles"],
  ["formula", "Regression"], ["total", "Totals"], ["ratio", "Ratio"]];
const FAMILIES = [["gaussian", "Linear, for numbers"], ["binomial", "Logistic, for yes or no"], ["poisson", "Poisson, for counts"]];
const FORMS = [["", "as usual"], ["number", "as a number"], ["levels", "by levels"], ["curve", "as a curve"], ["log", "as a logarithm"]];
const SIGNS = ["==", "!=", "<", "<=", ">", ">="].map((sign) => [sign, sign]);

export const state = {
  kind: "mean", columns: [], first: "", second: "", quantiles: "0.25, 0.5, 0.75",
  outcome: "", answer: "", log: false, family: "gaussian", ratios: false, terms: [], products: [], typed: "",
  where: "", by: "", design: true, given: {},
};

export function requestBody(found) {
  const request = { kind: state.kind, of: state.columns, where: state.where || null, by: state.by || null,
    design: { ...state.given, no_design: !state.design } };
  if (state.kind === "table") request.of = [state.first, state.second];
  if (state.kind === "ratio") request.of = [`${state.first}:${state.second}`];
  if (state.kind === "quantile") {
    const shares = state.quantiles.split(/[,;\s]+/).filter(Boolean);
    request.of = state.columns.flatMap((name) => shares.map((share) => `${name}:${share}`));
  }
  if (state.kind !== "formula") return { request };
  const outcome = found.columns.find((one) => one.name === state.outcome);
  const picksAnswer = outcome && outcome.levels.length && state.family === "binomial";
  const answer = picksAnswer ? (outcome.levels[Number(state.answer) || 0] || {}).code : null;
  const model = { outcome: state.outcome, answer, log: state.log && !picksAnswer, terms: state.terms,
    products: state.products };
  const options = { ...request, family: state.family, exponentiate: state.ratios };
  return state.typed ? { request: { ...options, of: [state.typed] } } : { request: { ...options, of: ["picked"] }, model };
}

// Fill the form from a request; a model is shown as its formula.
export function restore(request) {
  const kind = request.kind === "median" ? "quantile" : request.kind;
  Object.assign(state, { kind, where: request.where || "", by: request.by || "", columns: [], typed: "",
    design: !request.design.no_design, given: { ...request.design } });
  delete state.given.no_design;
  if (kind === "formula") Object.assign(state, { typed: request.of[0], family: request.family, ratios: request.exponentiate });
  else if (kind === "table") [state.first, state.second] = request.of;
  else if (kind === "ratio") [state.first, state.second] = request.of[0].split(":");
  else if (request.kind === "quantile") {
    const parts = request.of.map((text) => [text.slice(0, text.lastIndexOf(":")), text.slice(text.lastIndexOf(":") + 1)]);
    state.columns = [...new Set(parts.map(([name]) => name))];
    state.quantiles = [...new Set(parts.map(([, share]) => share))].join(", ");
  } else state.columns = [...request.of];
  if (request.kind === "median") state.quantiles = "0.5";
}

export function form(found, redraw) {
  const own = { table: pair, ratio: pair, formula: model }[state.kind] || list;
  return [...own(found, redraw), subset(found, redraw), design(found)];
}

function usable(found) {
  const columns = found.columns.filter((one) => one.role !== "id");
  if (["share", "table"].includes(state.kind)) return columns.filter((one) => one.levels.length);
  if (state.kind === "formula") return columns;
  return columns.filter((one) => one.numbers && (state.kind !== "quantile" || one.kind !== "nominal"));
}

function list(found, redraw) {
  const columns = usable(found);
  const names = new Set(columns.map((one) => one.name));
  state.columns = state.columns.filter((name) => names.has(name));
  const add = columnField(columns.filter((one) => !state.columns.includes(one.name)), "", (name) => {
    if (name) { state.columns.push(name); redraw(); document.getElementById("add-column").focus(); }
  }, { id: "add-column" });
  return [
    el("div", { class: "fields" }, labelled("Add a question", add),
      state.kind === "quantile" && labelled("Quantiles", textField("quantiles", "0.25, 0.5, 0.75"))),
    state.columns.length > 0 && el("ul", { class: "picked", "aria-label": "Picked questions" }, state.columns.map((name) =>
      chip(name, () => { state.columns = state.columns.filter((one) => one !== name); redraw(); }))),
  ];
}

function chip(name, remove) {
  return el("li", {}, name, el("button", { type: "button", "aria-label": `Remove ${name}`, onclick: remove }, "×"));
}

function pair(found, redraw) {
  const texts = state.kind === "table" ? ["Rows", "Columns"] : ["Total of", "over the total of"];
  const field = (key, id) => columnField(usable(found), state[key], (name) => { state[key] = name; }, { id });
  return [el("div", { class: "fields" }, labelled(texts[0], field("first", "first-column")),
    labelled(texts[1], field("second", "second-column")))];
}

function model(found, redraw) {
  if (state.typed) return [typedFormula(redraw), families(found, redraw)];
  const outcome = found.columns.find((one) => one.name === state.outcome);
  const columns = usable(found);
  const add = columnField(columns.filter((one) => one.name !== state.outcome
    && !state.terms.some((term) => term.column === one.name)), "", (name) => {
    if (name) { state.terms.push({ column: name, form: "" }); redraw(); document.getElementById("add-term").focus(); }
  }, { id: "add-term" });
  return [
    el("div", { class: "fields" },
      labelled("Outcome", columnField(columns, state.outcome, (name) => {
        if (name === state.outcome) return;
        state.outcome = name;
        const picked = found.columns.find((one) => one.name === name);
        state.family = picked && picked.levels.length && (!picked.numbers || picked.kind === "nominal") ? "binomial" : "gaussian";
        redraw();
        document.getElementById("outcome").focus();
      }, { id: "outcome" })),
      outcome && outcome.levels.length > 0 && state.family === "binomial" && labelled("Probability of",
        select(outcome.levels.map((one, place) => [String(place), one.text]), state.answer || "0",
          (place) => { state.answer = place; }, { id: "answer" })),
      outcome && !outcome.levels.length && state.family === "gaussian"
        && tick("Its logarithm", state.log, (on) => { state.log = on; })),
    families(found, redraw),
    el("div", { class: "fields" }, labelled("Add a term", add)),
    state.terms.length > 0 && el("ul", { class: "terms", "aria-label": "Terms" },
      state.terms.map((term) => termRow(term, found, redraw))),
    ...products(redraw),
  ];
}

function termRow(term, found, redraw) {
  const column = found.columns.find((one) => one.name === term.column) || { numbers: true, kind: "continuous" };
  const ordered = column.numbers && column.kind !== "nominal";
  const forms = FORMS.filter(([form]) => form === "" || form === "levels" || ordered);
  return el("li", {}, el("span", {}, term.column),
    select(forms, term.form, (form) => { term.form = form; }, { "aria-label": `How ${term.column} enters the model` }),
    el("button", { type: "button", class: "small", "aria-label": `Remove ${term.column}`, onclick: () => {
      state.terms = state.terms.filter((one) => one !== term);
      state.products = state.products.filter((pairOf) => !pairOf.includes(term.column));
      redraw();
    } }, "×"));
}

function products(redraw) {
  if (state.terms.length < 2) return [];
  const names = state.terms.map((term) => [term.column, term.column]);
  const first = select(names, names[0][0], () => {}, { "aria-label": "First part of a product" });
  const second = select(names, names[1][0], () => {}, { "aria-label": "Second part of a product" });
  return [el("div", { class: "fields" }, labelled("Interaction of", first), labelled("and", second),
    el("button", { type: "button", onclick: () => {
      if (first.value === second.value) return;
      state.products.push([first.value, second.value]);
      redraw();
    } }, "Add the interaction")),
  state.products.length > 0 && el("ul", { class: "picked", "aria-label": "Interactions" }, state.products.map((both) =>
    chip(both.join(" × "), () => { state.products = state.products.filter((one) => one !== both); redraw(); })))];
}

function families(found, redraw) {
  return el("div", { class: "fields" },
    labelled("Model", select(FAMILIES, state.family, (family) => { state.family = family; redraw(); }, { id: "family" })),
    state.family !== "gaussian" && tick(state.family === "binomial" ? "Show odds ratios" : "Show rate ratios", state.ratios,
      (on) => { state.ratios = on; }),
    !state.typed && el("button", { type: "button", class: "small", onclick: () => { state.typed = " "; redraw();
      document.getElementById("typed").focus(); } }, "Type the formula instead"));
}

function typedFormula(redraw) {
  const field = el("input", { class: "long", id: "typed", placeholder: "KILOS ~ AGE + C(SEX)", spellcheck: "false",
    oninput: () => { state.typed = field.value || " "; } });
  field.value = state.typed.trim();
  return el("div", { class: "fields" }, labelled("Formula", field),
    el("button", { type: "button", class: "small", onclick: () => { state.typed = ""; redraw(); } }, "Pick columns instead"));
}

function textField(key, placeholder, attributes = {}) {
  const field = el("input", { placeholder, spellcheck: "false", oninput: () => { state[key] = field.value; }, ...attributes });
  field.value = state[key];
  return field;
}

function subset(found, redraw) {
  const where = textField("where", "everybody", { class: "long", id: "where" });
  const pick = { column: "", sign: "==", value: "" };
  const value = el("span");
  const drawValue = () => {
    const column = found.columns.find((one) => one.name === pick.column);
    if (column && column.levels.length) {
      pick.value = String(0);
      value.replaceChildren(select(column.levels.map((one, place) => [String(place), one.text]), "0",
        (place) => { pick.value = place; }, { "aria-label": "Answer" }));
    } else {
      const field = el("input", { type: "number", step: "any", "aria-label": "Value", oninput: () => { pick.value = field.value; } });
      value.replaceChildren(field);
      pick.value = "";
    }
  };
  drawValue();
  const add = () => {
    const column = found.columns.find((one) => one.name === pick.column);
    if (!column || pick.value === "") return;
    const code = column.levels.length ? column.levels[Number(pick.value)].code : Number(pick.value);
    const name = /^[A-Za-z_]\w*$/.test(column.name) ? column.name : `Q(${JSON.stringify(column.name)})`;
    const text = `${name} ${pick.sign} ${JSON.stringify(code)}`;
    state.where = state.where ? `${state.where} and ${text}` : text;
    redraw();
    document.getElementById("where").focus();
  };
  const groups = found.columns.filter((one) => one.levels.length || one.role === "stratum");
  return el("details", { open: Boolean(state.where || state.by) }, el("summary", {}, "For whom: subset and groups"),
    el("div", { class: "fields" },
      labelled("Only respondents with", columnField(found.columns, "", (name) => { pick.column = name; drawValue(); })),
      select(SIGNS, "==", (sign) => { pick.sign = sign; }, { "aria-label": "Comparison" }), value,
      el("button", { type: "button", onclick: add }, "Add the condition")),
    el("div", { class: "fields" }, labelled("Condition", where)),
    el("div", { class: "fields" }, labelled("Within each group of",
      columnField(groups, state.by, (name) => { state.by = name; }, { id: "by" }))));
}

function design(found) {
  const named = Object.entries(found.design).filter(([, names]) => names.length);
  const text = named.map(([role, names]) => `${role} ${names.join(", ")}`).join("; ");
  const part = (key) => columnField(found.columns, state.given[key] || "", (name) => {
    if (name) state.given[key] = name;
    else delete state.given[key];
  });
  const lonely = select([["fail", "stop with a message"], ["remove", "no variance"], ["adjust", "centre at the overall mean"],
    ["average", "the mean of the other strata"]], state.given.lonely || "fail", (value) => { state.given.lonely = value; });
  return el("details", {}, el("summary", {}, `Design of the sample: ${text || "none described"}`),
    named.length > 0 && tick("Use the design of the description", state.design, (on) => { state.design = on; }, { id: "use-design" }),
    el("p", { class: "muted" }, "Columns given here are used instead."),
    el("div", { class: "fields" }, labelled("Weights", part("weights")), labelled("Strata", part("strata")),
      labelled("Clusters", part("clusters")), labelled("Population (a column)", part("population"))),
    el("div", { class: "fields" }, labelled("Strata with one cluster", lonely),
      tick("Cluster numbers start again in every stratum", Boolean(state.given.nest), (on) => { state.given.nest = on; })));
}
