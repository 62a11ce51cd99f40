// One column: its answers, codes and order, and what was guessed about it.

import { el, number } from "../shared/dom.js";
import { scroller } from "./controls.js";
import { KINDS, ROLES, select } from "./grid.js";

const REASONS = ["answer", "skip", "refused", "dont_know", "blank", "other"];

function why(column) {
  const sure = column.confidence ? ` (${column.confidence})` : "";
  const before = column.guessed ? ` Guessed before: ${column.guessed}.` : "";
  return `${column.note || "As the file states it"}${sure}.${before}`;
}

// `others` are selected columns in which the role, the kind and missing codes are set as well.
export async function openColumn(name, context, others = []) {
  let column;
  try {
    column = await context.api.get(`open/column?${new URLSearchParams({ name })}`);
  } catch (error) { return context.warn(error.message); }
  const draft = {
    role: column.role, kind: column.kind,
    levels: column.levels.map((level) => ({ ...level, reason: "answer" })),
    codes: column.codes.map((code) => ({ ...code, was: code.reason })),
  };
  const dialog = el("dialog", { class: "column", "aria-labelledby": "column-title" });
  const wrong = el("p", { class: "wrong", role: "alert" });
  const body = el("div", { class: "column-body" });
  const also = el("input", { type: "checkbox", id: "also", checked: true });
  let pending = () => {};

  function draw() {
    body.replaceChildren(...[
      el("div", { class: "fields" },
        el("label", {}, "Role", select("Role", ROLES, draft.role, (value) => { draft.role = value; draw(); })),
        draft.role === "question" && el("label", {}, "Kind", select("Kind", KINDS, draft.kind, (value) => { draft.kind = value; draw(); }))),
      draft.levels.length > 0 && draft.kind !== "continuous" && levels(),
      column.numbers && numbers(column.numbers),
      codes(),
    ].filter(Boolean));
  }

  function levels() {
    const move = (place, step) => {
      const [level] = draft.levels.splice(place, 1);
      draft.levels.splice(place + step, 0, level);
      draw();
      const button = body.querySelectorAll(".levels tr")[place + step + 1].querySelector(`[data-step="${step}"]`);
      if (button && !button.disabled) button.focus();
    };
    const ordered = draft.kind === "ordinal";
    return scroller("Answers", el("table", { class: "levels" },
      el("caption", {}, ordered ? "Answers, from one end to the other" : "Answers"),
      el("tr", {}, ["Code", "Label", "Count", "Meaning", ordered && "Order"].filter(Boolean).map((text) => el("th", { scope: "col" }, text))),
      draft.levels.map((level, place) => el("tr", {},
        el("td", {}, String(level.code)), el("td", {}, level.label), el("td", { class: "number" }, number(level.count)),
        el("td", {}, select(`Meaning of ${level.code}`, REASONS, level.reason, (value) => { level.reason = value; })),
        ordered && el("td", {}, [["↑", -1, "earlier"], ["↓", 1, "later"]].map(([sign, step, text]) => el("button", {
          type: "button", class: "small", "data-step": step, "aria-label": `${level.code} ${text}`,
          disabled: place + step < 0 || place + step >= draft.levels.length, onclick: () => move(place, step) }, sign)))))));
  }

  function numbers(values) {
    return scroller("Answers", el("table", {}, el("caption", {}, "Answers"),
      el("tr", {}, Object.keys(values).map((key) => el("th", { scope: "col" }, key))),
      el("tr", {}, Object.values(values).map((value) => el("td", { class: "number" }, number(value))))));
  }

  function codes() {
    const code = el("input", { type: "text", id: "new-code", size: 8, autocomplete: "off",
      onkeydown: (event) => { if (event.key === "Enter") add(); } });
    let reason = "refused";
    const add = () => {
      if (!code.value.trim()) return;
      draft.codes.push({ code: code.value.trim(), label: "", reason, was: null });
      draw();
      document.getElementById("new-code").focus();
    };
    pending = add;
    return el("div", {},
      draft.codes.length > 0 && el("table", {}, el("caption", {}, "Codes that are not answers"),
        draft.codes.map((one) => el("tr", {}, el("td", {}, String(one.code)), el("td", {}, one.label),
          el("td", {}, select(`Meaning of ${one.code}`, REASONS, one.reason, (value) => { one.reason = value; }))))),
      el("div", { class: "fields" },
        el("label", {}, "Another missing code", code),
        el("label", {}, "Meaning", select("Meaning of the new code", REASONS.slice(1), reason, (value) => { reason = value; })),
        el("button", { type: "button", onclick: add }, "Add")));
  }

  function settings() {
    const names = [name, ...(also.checked ? others : [])];
    const set = (field, value) => names.map((one) => `${one}.${field}=${value}`);
    const result = [];
    if (draft.role !== column.role) result.push(...set("role", draft.role));
    for (const one of draft.codes) if (one.reason !== one.was) result.push(...set(`missing.${one.code}`, one.reason));
    for (const one of draft.levels) if (one.reason !== "answer") result.push(...set(`missing.${one.code}`, one.reason));
    if (draft.role !== "question") return result;
    const becomes = draft.kind !== column.kind;
    if (becomes) result.push(...set("kind", draft.kind));
    const order = draft.levels.filter((one) => one.reason === "answer").map((one) => one.code);
    const before = column.levels.map((one) => one.code).filter((one) => order.includes(one));
    const moved = order.some((one, place) => one !== before[place]);
    if (draft.kind === "ordinal" && order.length && (moved || becomes)) {
      if (order.some((one) => String(one).includes(","))) throw new Error("An answer contains a comma. Write the order into survey.toml instead.");
      result.push(`${name}.levels=${order.join(",")}`);
    }
    return result;
  }

  async function save() {
    wrong.textContent = "";
    // A code that was typed and not added yet.
    pending();
    try {
      const found = settings();
      if (found.length) await context.api.post("open/correct", { settings: found });
      dialog.close();
      if (found.length) { context.announce(`${name} corrected.`); await context.refresh(); }
    } catch (error) { wrong.textContent = error.message; }
  }

  draw();
  dialog.append(...[
    el("h2", { id: "column-title" }, name), column.label && el("p", {}, column.label),
    column.universe && el("p", { class: "muted" }, `Asked of: ${column.universe}`),
    el("p", { class: "muted" }, why(column)),
    body, others.length > 0 && el("label", { class: "tick" }, also, ` Set the role, the kind and missing codes in the ${number(others.length)} other selected columns as well`), wrong,
    el("div", { class: "actions" },
      el("button", { type: "button", class: "main", id: "save-column", onclick: save }, "Save"),
      el("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))].filter(Boolean));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
