// Step 6, Export: files for other programs, the methods paragraph, the project as an archive.

import { el } from "../shared/dom.js";
import { chosen, copyButton, runSelect, stepJobs, tick } from "./controls.js";

const archive = { models: true, data: true };

export async function show(root, context) {
  if (!context.project.runs.some((run) => run.finished)) {
    root.append(el("p", {}, "No run is finished yet. ", el("a", { href: "#impute" }, "Impute"), " first."));
    return;
  }
  const known = context.project.runs.some((run) => run.finished && run.name === chosen.run);
  const wanted = { models: archive.models ? "yes" : "no", data: archive.data ? "yes" : "no" };
  const found = await context.api.get(`export?${new URLSearchParams({ ...wanted, ...(known ? { run: chosen.run } : {}) })}`);
  chosen.run = found.run;
  context.commands(found.commands);
  root.append(el("div", { class: "fields" }, runSelect(found.runs, found.run, () => context.refresh())),
    stepJobs(["export", "archive"], context), exports(found, context), methods(found, context), handOver(found, context));
}

function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function link(file) {
  return el("li", {}, el("a", { href: `api/export/file?${new URLSearchParams({ path: file.path })}`, download: file.name },
    file.name), ` ${size(file.bytes)}`);
}

function exports(found, context) {
  const write = (to) => context.api.post("export/write", { run: found.run, to })
    .then(() => context.refresh()).catch(() => {});
  return el("section", { class: "card", "aria-label": "Files for other programs" },
    el("h3", {}, "Files for other programs"),
    el("p", { class: "muted" }, found.kept
      ? `The code of kept analyses (${found.kept}) is written next to the files for R, Stata and Python (Parquet).`
      : "Keep analyses in the step before to get their code next to the files."),
    el("ul", { class: "formats" }, found.formats.map((one) => el("li", { "data-format": one.to },
      el("div", { class: "kept-head" }, el("strong", {}, one.program),
        el("button", { type: "button", class: "small", "data-write": one.to, onclick: () => write(one.to) },
          one.files.length ? "Write again" : "Write", el("span", { class: "visually-hidden" }, ` for ${one.program}`))),
      el("p", { class: "muted" }, one.what),
      ...refused(found.run, one.to, context),
      one.files.length > 0 && el("p", { class: "muted" }, `In ${one.folder}:`),
      one.files.length > 0 && el("ul", { class: "files" }, one.files.map(link))))));
}

// Kept analyses that could not be written as code of the program.
function refused(run, to, context) {
  const last = context.project.jobs.find((job) => job.kind === "export" && job.state === "finished"
    && job.parameters.run === run && job.parameters.to === to);
  return ((last && last.result.refused) || []).map((text) => el("p", { class: "warn" }, `No code for ${text}`));
}

function methods(found, context) {
  if (!found.methods) {
    return el("section", { class: "card", "aria-label": "Methods" }, el("h3", {}, "Methods"),
      el("p", {}, "Write the report in ", el("a", { href: "#look" }, "Look"), " first."));
  }
  const { paragraph, citations } = found.methods;
  return el("section", { class: "card", "aria-label": "Methods" }, el("h3", {}, "Methods paragraph"),
    el("p", { class: "methods", id: "methods" }, paragraph),
    el("ul", {}, citations.map((text) => el("li", {}, text))),
    el("div", { class: "actions" }, copyButton([paragraph, "", ...citations].join("\n"), "methods", context)));
}

function handOver(found, context) {
  return el("section", { class: "card", "aria-label": "Hand over" }, el("h3", {}, "Hand over the project"),
    el("p", {}, "Everything is in the project folder: ", el("code", {}, context.project.folder),
      ". It opens again with ", el("code", {}, `tabsoda desk ${context.project.folder}`), "."),
    el("div", { class: "fields" },
      tick("With the fitted models", archive.models, (on) => { archive.models = on; context.refresh(); }, { id: "with-models" }),
      tick("With the survey file", archive.data, (on) => { archive.data = on; context.refresh(); }, { id: "with-data" }),
      el("button", { type: "button", id: "archive", onclick: () => context.api.post("export/archive", archive)
        .then(() => context.refresh()).catch(() => {}) }, "Pack as .zip")),
    found.archive && el("ul", { class: "files" }, link(found.archive)),
    el("p", { class: "muted" }, "Runs contain the answers of the respondents: share the archive only with people who may see them."));
}
