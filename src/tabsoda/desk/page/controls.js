// Controls that several steps share: choosing a run, a column, copying a text, a table.

import { el } from "../shared/dom.js";
import { jobList } from "./jobs.js";

// What was chosen stays chosen when a step is shown again.
export const chosen = { run: null };

export function labelled(text, control, hint = "") {
  return el("label", {}, el("span", {}, text), control, hint && el("small", { class: "muted" }, hint));
}

export function select(options, value, change, attributes = {}) {
  const control = el("select", { onchange: () => change(control.value), ...attributes },
    options.map(([key, text]) => el("option", { value: key }, text)));
  control.value = value ?? "";
  return control;
}

export function runSelect(runs, run, change) {
  return labelled("Run", select(runs.map((name) => [name, name]), run, (name) => {
    chosen.run = name;
    change(name);
  }, { "data-run": "" }));
}

export function tick(text, checked, change, attributes = {}) {
  const box = el("input", { type: "checkbox", onchange: () => change(box.checked), ...attributes });
  box.checked = checked;
  return el("label", { class: "tick" }, box, el("span", {}, text));
}

export function columnText({ name, label }) {
  return label && label !== name ? `${name} – ${label.length > 60 ? `${label.slice(0, 59)}…` : label}` : name;
}

// A field that accepts the names of columns; the browser lists those that fit.
export function columnField(columns, value, change, attributes = {}) {
  const id = `columns-${Math.random().toString(36).slice(2)}`;
  const names = new Set(columns.map((one) => one.name));
  const field = el("input", { list: id, autocomplete: "off", spellcheck: "false", ...attributes });
  field.value = value || "";
  let reported = field.value;
  const report = () => {
    const name = field.value.trim();
    const known = !name || names.has(name);
    field.setAttribute("aria-invalid", String(!known));
    // A field that is taken off the page also reports a change.
    if (!known || name === reported) return;
    reported = name;
    change(name);
  };
  field.addEventListener("change", report);
  field.addEventListener("input", () => { if (names.has(field.value.trim())) report(); });
  return el("span", { class: "picker" }, field, el("datalist", { id },
    columns.map((one) => el("option", { value: one.name }, columnText(one)))));
}

export function copyButton(text, name, context) {
  const button = el("button", { type: "button", class: "small", "data-copy": name, onclick: async () => {
    await navigator.clipboard.writeText(text);
    context.announce(`${name} copied.`);
    button.textContent = "Copied";
    window.setTimeout(() => { button.textContent = `Copy ${name}`; }, 2000);
  } }, `Copy ${name}`);
  return button;
}

export function saveButton(text, file, kind = "text/plain") {
  return el("button", { type: "button", class: "small", onclick: () => {
    const address = URL.createObjectURL(new Blob([text], { type: kind }));
    el("a", { href: address, download: file }).click();
    URL.revokeObjectURL(address);
  } }, `Save ${file}`);
}

// What can be wider than the page: it is scrolled with the arrow keys.
export function scroller(name, content, size = "") {
  return el("div", { class: `scroll ${size}`, tabindex: "0", role: "group", "aria-label": name }, content);
}

export function table(header, rows, { left = 1, caption = "", name = "", className = "" } = {}) {
  const cell = (tag, text, place, extra = {}) =>
    el(tag, { class: place < left ? null : "number", ...extra }, text);
  const head = (text, place) => (text ? cell("th", text, place, { scope: "col" }) : el("td"));
  return scroller(caption || name || "Table",
    el("table", { class: className }, caption && el("caption", {}, caption),
      el("thead", {}, el("tr", {}, header.map(head))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((text, place) =>
        (place === 0 ? cell("th", text, 0, { scope: "row" }) : cell("td", text, place))))))));
}

// The jobs of a step that are not finished: waiting, running, failed or ended by somebody.
export function stepJobs(kinds, context) {
  const list = el("ul", { class: "jobs", "aria-label": "Work of this step" });
  context.onJobs((jobs) => jobList(list, jobs.filter((job) => kinds.includes(job.kind) && job.state !== "finished"), context));
  return list;
}
