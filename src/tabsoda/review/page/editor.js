// The editor for a rule's conditions. The server validates them.

import { post } from "./api.js";
import { el, number } from "./dom.js";

const PAUSE = 250;
const REASONS = {
  refused: "or was refused",
  dont_know: "or was answered with “don't know”",
  other: "or is missing for another reason",
};

// A rule without an id is new; its target is chosen here, too.
export function openEditor(dialog, rule, columns, save) {
  const when = structuredClone(rule.when);
  const known = new Map(columns.map((column, position) => [column.name, { ...column, position }]));
  const isNew = rule.id === null;
  let target = rule.target;
  const paths = el("div", { class: "paths" });
  const outcome = el("div", { class: "outcome", role: "status" });
  const why = el("textarea", { id: "edit-why", rows: 2, maxlength: 4000 });
  const store = el("button", { type: "button", class: "approve", onclick: keep }, "Save");
  let timer = 0;
  let asked = 0;
  let lists = 0;

  function changed() {
    clearTimeout(timer);
    timer = setTimeout(preview, PAUSE);
  }

  async function preview() {
    const turn = ++asked;
    try {
      if (isNew && (!target || !when.length)) {
        refuse(new Error(target ? "Choose a gate." : "Choose the question that is skipped."));
        return;
      }
      const after = await post("preview", isNew ? { target, when } : { id: rule.id, when });
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
      await save(when, why.value, target);
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
      isLater(gate.name) ? el("p", { class: "flag later" },
        `${gate.name} comes after ${target} in the file. Use it only if it was asked or set before.`) : "",
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

  function isLater(gate) {
    return target && known.has(target) && known.get(gate).position > known.get(target).position;
  }

  // A field to choose a question by typing a part of its name or text.
  function adder(text, add) {
    return picker(text, (name) => { add(name); rebuild(); }, (column) => column.name !== target);
  }

  function picker(text, choose, offered) {
    const list = `questions-${++lists}`;
    const input = el("input", {
      type: "text", list, placeholder: text, "aria-label": text, autocomplete: "off", class: "picker",
      oninput: () => { if (known.has(input.value) && offered(known.get(input.value))) choose(input.value); },
    });
    const options = columns.filter(offered).map((column) => el("option", { value: column.name },
      `${column.label || column.name}${isLater(column.name) ? " (later in the file)" : ""}`));
    return el("span", {}, input, el("datalist", { id: list }, ...options));
  }

  function targetField() {
    return el("p", { class: "target" }, picker("Question that is skipped …", (name) => {
      target = name;
      heading.textContent = title();
      rebuild();
    }, () => true));
  }

  function title() {
    if (!isNew) return `Edit ${rule.id}: when is ${target} skipped?`;
    return target ? `New rule: when is ${target} skipped?` : "New rule";
  }

  function blank(gate) {
    return { gate, levels: [], above: null, up_to: null, or_skipped: false, or_blank: false, reasons: [] };
  }

  const heading = el("h2", { id: "editor-title" }, title());
  dialog.replaceChildren(
    heading,
    rule.label ? el("p", { class: "muted" }, rule.label) : "",
    isNew ? targetField() : "",
    paths,
    outcome,
    el("div", { class: "note" }, el("label", { for: "edit-why" }, "Why?"), why),
    el("div", { class: "actions" }, store,
      el("button", { type: "button", onclick: () => dialog.close() }, "Cancel")),
    el("p", { class: "muted" }, isNew ? "A new rule still has to be approved."
      : "An edited rule has to be approved again."));
  rebuild();
  dialog.showModal();
}
