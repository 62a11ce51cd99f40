// Changing the conditions of a rule. Whether they make sense is for the server to say.

import { post } from "./api.js";
import { el, number } from "./dom.js";

const PAUSE = 250;
const REASONS = {
  refused: "or was refused",
  dont_know: "or was answered with “don't know”",
  other: "or is missing for another reason",
};

export function openEditor(dialog, rule, columns, save) {
  const when = structuredClone(rule.when);
  const known = new Map(columns.map((column) => [column.name, column]));
  const earlier = columns.slice(0, columns.findIndex((column) => column.name === rule.target));
  const paths = el("div", { class: "paths" });
  const outcome = el("div", { class: "outcome", role: "status" });
  const why = el("textarea", { id: "edit-why", rows: 2, maxlength: 4000 });
  const store = el("button", { type: "button", class: "approve", onclick: keep }, "Save");
  let timer = 0;
  let asked = 0;

  function changed() {
    clearTimeout(timer);
    timer = setTimeout(preview, PAUSE);
  }

  async function preview() {
    const turn = ++asked;
    try {
      const after = await post("preview", { id: rule.id, when });
      if (turn === asked) show(after.sentence, after.counts);
    } catch (error) {
      if (turn === asked) refuse(error);
    }
  }

  function show(sentence, counts) {
    store.disabled = false;
    outcome.classList.remove("wrong");
    outcome.replaceChildren(el("p", {}, sentence), el("p", { class: "muted" },
      `Fires on ${number(counts.fired_blank)} blank and ${number(counts.fired_asked)} asked; silent on `
      + `${number(counts.silent_blank)} blank and ${number(counts.silent_asked)} asked.`));
  }

  function refuse(error) {
    store.disabled = true;
    outcome.classList.add("wrong");
    outcome.replaceChildren(el("p", {}, error.message));
  }

  async function keep() {
    try {
      await save(when, why.value);
      dialog.close();
    } catch (error) {
      refuse(error);
      store.disabled = false;
    }
  }

  function rebuild() {
    paths.replaceChildren(...when.map(pathField), adder("Or skip when …", (gate) => when.push([blank(gate)])));
    changed();
  }

  function pathField(path, position) {
    return el("fieldset", {},
      el("legend", {}, position ? "or skip when" : "skip when"),
      ...path.map((condition) => conditionField(condition, () => {
        path.splice(path.indexOf(condition), 1);
        if (!path.length) when.splice(when.indexOf(path), 1);
        rebuild();
      })),
      adder("And also …", (gate) => path.push(blank(gate))));
  }

  function conditionField(condition, remove) {
    const gate = known.get(condition.gate);
    const answers = gate.kind === "continuous" ? bounds(condition) : levels(condition, gate);
    return el("fieldset", { class: "condition" },
      el("legend", {}, el("strong", {}, gate.name), gate.label ? ` ${gate.label}` : ""),
      answers,
      ...Object.entries(REASONS).map(([reason, text]) => check(
        text, condition.reasons.includes(reason), (on) => {
          const rest = condition.reasons.filter((known) => known !== reason);
          condition.reasons = on ? [...rest, reason] : rest;
        })),
      check("or was itself skipped", condition.or_skipped, (on) => { condition.or_skipped = on; }),
      check("or is missing for any reason", condition.or_blank, (on) => { condition.or_blank = on; }),
      el("button", { type: "button", class: "small", onclick: remove }, `Remove ${gate.name}`));
  }

  function levels(condition, gate) {
    return el("div", { class: "levels" }, ...gate.levels.map((text, position) => check(
      text, condition.levels.includes(position), (on) => {
        const rest = condition.levels.filter((level) => level !== position);
        condition.levels = on ? [...rest, position].sort((a, b) => a - b) : rest;
      })));
  }

  function bounds(condition) {
    const field = (text, name) => {
      const input = el("input", {
        type: "number", step: "any",
        oninput: () => {
          condition[name] = input.value === "" ? null : Number(input.value);
          changed();
        },
      });
      input.value = condition[name] ?? "";
      return el("label", {}, `${text} `, input);
    };
    return el("div", { class: "bounds" }, field("above", "above"), field("up to", "up_to"));
  }

  function check(text, on, set) {
    const box = el("input", { type: "checkbox", onchange: () => { set(box.checked); changed(); } });
    box.checked = on;
    return el("label", { class: "check" }, box, ` ${text}`);
  }

  function adder(text, add) {
    const choice = el("select", {
      "aria-label": text,
      onchange: () => { add(choice.value); rebuild(); },
    }, el("option", { value: "" }, text),
    ...earlier.map((column) => el("option", { value: column.name },
      column.label ? `${column.name}: ${column.label}` : column.name)));
    return choice;
  }

  function blank(gate) {
    return { gate, levels: [], above: null, up_to: null, or_skipped: false, or_blank: false, reasons: [] };
  }

  dialog.replaceChildren(
    el("h2", { id: "editor-title" }, `Edit ${rule.id}: when is ${rule.target} skipped?`),
    rule.label ? el("p", { class: "muted" }, rule.label) : "",
    paths,
    outcome,
    el("div", { class: "note" }, el("label", { for: "edit-why" }, "Why?"), why),
    el("div", { class: "actions" }, store,
      el("button", { type: "button", onclick: () => dialog.close() }, "Cancel")),
    el("p", { class: "muted" }, "An edited rule has to be approved anew."));
  rebuild();
  dialog.showModal();
}
