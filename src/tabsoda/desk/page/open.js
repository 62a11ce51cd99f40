// Step: Open. A file, what is in it, and corrections of its description.

import { el, number } from "../shared/dom.js";
import { grid } from "./grid.js";
import { openColumn } from "./column.js";
import { sharesText, stateMap } from "./state_map.js";

const USES = { data: "survey", form: "questionnaire", codebook: "codebook", description: "description", rules: "routing rules" };

export async function show(root, context) {
  let content = { survey: null, commands: null };
  try {
    content = await context.api.get("open");
  } catch (error) {
    // Such as a file that has moved: it can be opened again here.
    root.append(el("p", { class: "wrong", role: "alert" }, error.message));
  }
  context.commands(content.commands);
  root.append(dropZone(content, context));
  if (content.survey) survey(root, content, context);
}

function dropZone(content, context) {
  const open = content.survey !== null;
  const status = el("p", { class: "muted", role: "status" });
  const chooser = el("input", { type: "file", id: "file", class: "visually-hidden",
    onchange: () => take(chooser.files[0]) });
  const path = el("input", { type: "text", id: "path", autocomplete: "off", spellcheck: "false",
    placeholder: open ? "/path/to/form.xlsx" : "/path/to/survey.sav" });
  const done = async (answer) => {
    context.announce(`Opened as ${USES[answer.used_as]}.`);
    await context.refresh();
  };
  async function take(file) {
    if (!file) return;
    if (replaces(file.name, content)) return;
    status.textContent = `Reading ${file.name} …`;
    try {
      await done(await context.api.upload(file, null, (sent, total) => {
        status.textContent = sent < total ? `Sending ${file.name}: ${Math.round(100 * sent / total)} %` : `Reading ${file.name} …`;
      }));
    } catch { status.textContent = ""; }
  }
  async function takePath(event) {
    event.preventDefault();
    if (!path.value.trim() || replaces(path.value, content)) return;
    status.textContent = "Reading …";
    try { await done(await context.api.post("open", { path: path.value })); } catch { status.textContent = ""; }
  }
  const zone = el("section", { class: `card drop${open ? " small" : ""}`, "aria-label": "Open a file" },
    el("p", {}, open
      ? "Add a questionnaire (XLSForm, .qsf), a codebook (DDI), a survey.toml or a rules.toml; or open another survey."
      : "Drop a survey here: SPSS, Stata, SAS, CSV, Parquet or Excel. Its questionnaire or codebook can be added after it."),
    el("form", { class: "fields", onsubmit: takePath },
      el("button", { type: "button", id: "choose", class: open ? null : "main", onclick: () => chooser.click() }, "Choose a file"), chooser,
      el("label", { class: "wide", for: "path" }, "or its path on this computer", path),
      el("button", { type: "submit" }, "Open")),
    status,
    el("p", { class: "muted" }, "A file that you drop or choose is copied into the project; one opened by its path stays where it is."));
  chooser.setAttribute("aria-label", "Choose a file");
  chooser.tabIndex = -1;
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
  return zone;
}

// Another survey replaces the description and the rules; other files add to them.
function replaces(name, content) {
  const other = /\.(csv|tsv|txt|tab|psv|parquet|pq|sav|zsav|por|dta|sas7bdat|xpt)$/i.test(name);
  return content.survey && other
    && !window.confirm("Replace the open survey? Its description and rules are moved to the folder “replaced”.");
}

function survey(root, content, context) {
  const { survey: found } = content;
  const kinds = Object.entries(found.kinds).map(([kind, count]) => `${count} ${kind}`).join(", ");
  const roles = Object.entries(found.roles).filter(([role]) => role !== "question")
    .map(([role, count]) => `${count} ${role}`).join(", ");
  root.append(...[
    content.is_other_file && el("p", { class: "warn", role: "status" },
      "The survey file has changed since it was opened. Open it again to accept the change."),
    el("section", { class: "card", "aria-label": "What is in the file" },
      el("h3", {}, `${found.source}: ${number(found.rows)} rows, ${number(found.columns)} columns`),
      el("p", {}, `Questions: ${kinds || "none"}. Others: ${roles || "none"}. Cells: ${sharesText(found.cells)}.`),
      context.project.has_rules && el("p", { class: "muted" }, "Skips that follow from rules are not marked here; see ", el("a", { href: "#routing" }, "Routing"), "."),
      stateMap(`api/open/map.png?${content.version}`, found.cells, found.ticks), unlisted(content, context)),
    formCard(content), flags(found, context), corrections(content, context)].filter(Boolean));
}

function unlisted(content, context) {
  const box = el("input", { type: "checkbox", id: "unlisted", checked: content.unlisted === "missing",
    onchange: () => context.api.post("open/options", { unlisted: box.checked ? "missing" : "error" })
      .then(context.refresh, () => { box.checked = !box.checked; }) });
  return el("label", { class: "tick" }, box, " Read values that the description does not list as missing answers");
}

function formCard(content) {
  const { form } = content;
  if (!form) return null;
  return el("section", { class: "card", "aria-label": "Questionnaire" },
    el("h3", {}, `Questionnaire: ${form.path}`),
    el("p", {}, `${form.kind}: ${form.questions} questions, ${form.absent.length} of them not in the data; ${form.rules} rules.`),
    form.untranslated.length > 0 && el("details", {},
      el("summary", {}, `${form.untranslated.length} conditions were not translated`),
      el("ul", {}, form.untranslated.map((one) => el("li", {}, `${one.question}, ${one.part}: ${one.text}. ${one.why}`)))));
}

function flags(found, context) {
  if (!found.flags.length) return null;
  return el("section", { class: "card", "aria-label": "Worth a look" },
    el("details", { open: found.flags.length <= 8 }, el("summary", {}, `Worth a look: ${found.flags.length} decisions`),
      el("ul", { class: "flags" }, found.flags.slice(0, 300).map((flag) => el("li", {},
        flag.variable && el("button", { type: "button", class: "small", onclick: () => openColumn(flag.variable, context) }, flag.variable),
        ` ${flag.flag}${flag.detail ? `: ${flag.detail}` : ""}`)))));
}

function corrections(content, context) {
  const act = (again) => context.api.post("open/undo", { again })
    .then(() => { context.announce(again ? "Applied again." : "Undone."); return context.refresh(); }, () => {});
  const undo = el("button", { type: "button", id: "undo", disabled: !content.can_undo, onclick: () => act(false) }, "Undo ", el("kbd", {}, "u"));
  const redo = el("button", { type: "button", id: "redo", disabled: !content.can_redo, onclick: () => act(true) }, "Redo");
  const table = grid(content.survey.variables, context, (name, others) => openColumn(name, context, others));
  context.keys({ u: () => undo.click(), U: () => redo.click(), "/": () => table.search.focus() });
  return el("section", { class: "card", "aria-label": "Columns" },
    el("div", { class: "bar" }, el("h3", {}, "Columns"), table.filters, table.search, undo, redo),
    el("p", { class: "muted" }, "Kinds, orders, missing codes and roles as they were stated or guessed. Corrections are saved in survey.toml at once."),
    content.changed_outside && el("p", { class: "muted" }, "survey.toml was changed outside this table, such as by edits; corrections build on it."),
    table.selection, table.element,
    content.corrections.length > 0 && el("details", {},
      el("summary", {}, `${content.corrections.length} corrections`),
      el("ol", {}, content.corrections.map((text) => el("li", {}, el("code", {}, text))))));
}
