// The grid of columns. Only the rows in view are in the document, so that wide files stay fluent.

import { el, svg, number } from "../shared/dom.js";
import { keepFocus } from "./focus.js";

export const KINDS = ["continuous", "nominal", "ordinal"];
export const ROLES = ["question", "id", "weight", "stratum", "cluster", "ignore"];
const FILTERS = {
  all: ["All", () => true],
  doubtful: ["Doubtful", (row) => row.confidence === "doubtful"],
  guessed: ["Guessed", (row) => row.is_guess],
  corrected: ["Corrected", (row) => row.reason.includes("set by you")],
  others: ["Not questions", (row) => row.role !== "question"],
};
const HEIGHT = 40;
const AROUND = 6;
// Kept while the step is drawn anew after a correction.
const kept = { filter: "all", text: "", top: 0, name: null, selected: new Set(), anchor: null };

export function select(name, values, value, onchange) {
  const box = el("select", { "aria-label": name, onchange: () => onchange(box.value) },
    values.map((one) => el("option", { value: one, selected: one === value }, one)));
  return box;
}

function bar(row) {
  const counts = ["answered", "missing", "skipped"].map((state) => row[state] || 0);
  const total = counts[0] + counts[1] + counts[2] || 1;
  const at = [0, counts[0] / total, (counts[0] + counts[1]) / total];
  const text = `answered ${number(row.answered)}, missing ${number(row.missing)}, skipped ${number(row.skipped)}`;
  return svg("svg", { class: "states", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": text },
    svg("title", {}, text),
    ["answered", "missing", "skipped"].map((state, place) => svg("rect", { class: state, x: 100 * at[place], width: 100 * counts[place] / total, height: 10 })));
}

export function grid(rows, context, open) {
  let shown = rows;
  const body = el("div", { class: "rows", role: "rowgroup" });
  const element = el("div", { class: "grid", role: "grid", "aria-label": "Columns of the survey", "aria-multiselectable": "true", tabindex: "-1" },
    el("div", { role: "rowgroup", class: "grid-head" }, el("div", { role: "row", class: "row" },
      ["Name", "Text", "Role", "Kind", "Cells", "Why"].map((text) => el("span", { role: "columnheader" }, text)))), body);
  const search = el("input", { type: "search", id: "search", value: kept.text, "aria-label": "Search columns", placeholder: "Search ( / )",
    oninput: () => { kept.text = search.value; choose(); } });
  const filters = el("div", { class: "filters", role: "group", "aria-label": "Which columns to show" },
    Object.entries(FILTERS).map(([id, [text, test]]) => el("button", { type: "button", class: "small", "data-filter": id,
      onclick: () => { kept.filter = id; choose(); } }, `${text} ${number(rows.filter(test).length)}`)));

  const selection = el("p", { class: "selection", role: "status" });
  // Of columns that are not questions, the kind is not set.
  const together = (name, field) => (kept.selected.has(name)
    ? rows.filter((row) => kept.selected.has(row.name) && (field !== "kind" || row.kind)).map((row) => row.name) : [name]);

  function correct(row, field, value) {
    kept.name = row.name;
    const names = together(row.name, field);
    context.api.post("open/correct", { settings: names.map((name) => `${name}.${field}=${value}`) })
      .then(() => {
        context.announce(`${names.length > 1 ? `${names.length} columns` : row.name}: ${field} ${value}.`);
        return context.refresh();
      }, () => context.refresh());
  }

  // From the row where the selection began to this one.
  function selectTo(name) {
    const at = (one) => shown.findIndex((row) => row.name === one);
    if (at(kept.anchor) < 0) kept.anchor = kept.name;
    const [from, to] = [at(kept.anchor), at(name)].sort((a, b) => a - b);
    kept.selected = new Set(shown.slice(Math.max(from, 0), to + 1).map((row) => row.name));
    showSelection();
  }

  function mark(names) {
    kept.selected = new Set(names);
    kept.anchor = null;
    showSelection();
  }

  function showSelection() {
    const count = kept.selected.size;
    selection.hidden = count < 2;
    selection.replaceChildren(...(count < 2 ? [] : [`${number(count)} columns are selected. A role, a kind or a missing code that you set in one of them is set in all. `,
      el("button", { type: "button", class: "small", onclick: () => { mark([]); draw(); } }, "Select none")]));
    for (const item of body.children) item.setAttribute("aria-selected", String(kept.selected.has(item.dataset.name)));
  }

  function line(row, place) {
    const cell = (content, name) => el("span", { role: "gridcell", class: name }, content);
    const item = el("div", { role: "row", class: `row ${row.confidence || ""}`, "aria-rowindex": place + 2, "data-name": row.name,
      "aria-selected": String(kept.selected.has(row.name)), tabindex: row.name === kept.name ? "0" : "-1",
      onmousedown: (event) => {
        if (event.shiftKey) { selectTo(row.name); event.preventDefault(); } else kept.anchor = null;
      },
      onfocus: () => { kept.name = row.name; }, ondblclick: () => show(row.name) },
      cell(el("button", { type: "button", class: "link", tabindex: "-1",
        onclick: (event) => { if (!event.shiftKey) show(row.name); } }, row.name), "name"),
      cell(row.label, "text"),
      cell(select(`Role of ${row.name}`, ROLES, row.role, (value) => correct(row, "role", value)), "role"),
      cell(row.kind ? select(`Kind of ${row.name}`, KINDS, row.kind, (value) => correct(row, "kind", value)) : "", "kind"),
      cell(row.answered === undefined ? "" : bar(row), "cells"),
      cell([row.confidence === "doubtful" && el("strong", { class: "warn" }, "doubtful: "), row.reason || "stated"], "why"));
    item.style.top = `${HEIGHT * place}px`;
    for (const box of item.querySelectorAll("select")) box.tabIndex = -1;
    item.title = row.reason;
    return item;
  }

  // Rows that had the focus have it again; another one gets it if it is named.
  function draw(next = null) {
    kept.top = element.scrollTop;
    const first = Math.max(0, Math.floor(element.scrollTop / HEIGHT) - AROUND);
    const last = Math.min(shown.length, first + Math.ceil((element.clientHeight || 480) / HEIGHT) + 2 * AROUND);
    const restore = keepFocus(body);
    body.style.height = `${HEIGHT * shown.length}px`;
    body.replaceChildren(...shown.slice(first, last).map((row, place) => line(row, first + place)));
    if (next) focusOn(next);
    else restore();
  }

  function show(name) {
    open(name, together(name).filter((one) => one !== name));
  }

  function focusOn(name) {
    const item = body.querySelector(`[data-name="${CSS.escape(name)}"]`);
    if (item) item.focus({ preventScroll: true });
  }

  function choose() {
    const text = kept.text.toLowerCase();
    const test = FILTERS[kept.filter][1];
    shown = rows.filter((row) => test(row) && (!text || `${row.name} ${row.label}`.toLowerCase().includes(text)));
    if (!shown.some((row) => row.name === kept.name)) kept.name = shown.length ? shown[0].name : null;
    for (const button of filters.children) button.setAttribute("aria-pressed", String(button.dataset.filter === kept.filter));
    element.setAttribute("aria-rowcount", String(shown.length + 1));
    draw();
  }

  function move(step, extend) {
    const at = shown.findIndex((row) => row.name === kept.name);
    const place = Math.min(shown.length - 1, Math.max(0, at + step));
    if (place < 0) return;
    if (extend) selectTo(shown[place].name);
    else kept.anchor = null;
    kept.name = shown[place].name;
    const top = HEIGHT * place;
    const room = element.clientHeight - 2 * HEIGHT;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top > element.scrollTop + room) element.scrollTop = top - room;
    draw(kept.name);
  }

  const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 };
  element.addEventListener("keydown", (event) => {
    if (event.target.matches("select")) {
      if (event.key === "Escape") focusOn(kept.name);
      return;
    }
    if (STEPS[event.key]) move(STEPS[event.key], event.shiftKey);
    else if (event.key === "Escape" && kept.selected.size) { mark([]); draw(kept.name); }
    else if (event.key === "a" && (event.ctrlKey || event.metaKey)) mark(shown.map((row) => row.name));
    else if (event.key === "Enter" && event.target.matches("[data-name]")) show(kept.name);
    else if (event.key === "ArrowRight" && event.target.matches("[data-name]")) {
      const box = event.target.querySelector("select");
      if (box) box.focus();
    } else return;
    event.preventDefault();
  });
  let waiting = false;
  element.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    window.requestAnimationFrame(() => { waiting = false; draw(); });
  });
  // Of a survey that is not open any more.
  mark(rows.map((row) => row.name).filter((name) => kept.selected.has(name)));
  choose();
  // The height is known once the grid is on the page.
  document.getElementById("step").addEventListener("shown", () => { element.scrollTop = kept.top; draw(); }, { once: true });
  return { element, search, filters, selection };
}
