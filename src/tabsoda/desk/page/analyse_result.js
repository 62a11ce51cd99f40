// A result: the table, the figure, texts to copy, and code of other programs.

import { el } from "../shared/dom.js";
import { copyButton, saveButton, table } from "./controls.js";

const FORMATS = [["tsv", "for Excel"], ["md", "Markdown"], ["html", "HTML"], ["tex", "LaTeX"]];
const PROGRAMS = [["r", "R", "analysis.R"], ["stata", "Stata", "analysis.do"], ["python", "Python", "analysis.py"]];

export function resultCard(answer, run, context, brief = false) {
  const address = `api/analyse/picture.svg?${new URLSearchParams({ run, request: JSON.stringify(answer.request) })}`;
  return [
    !brief && el("h3", {}, answer.title),
    ...answer.warnings.map((text) => el("p", { class: "warn" }, text)),
    table(answer.header, answer.rows, { left: answer.left, name: answer.title }),
    el("p", { class: "muted" }, answer.note),
    el("div", { class: "actions" }, FORMATS.map(([form, name]) => copyButton(answer.copies[form], name, context))),
    !brief && el("details", { open: true }, el("summary", {}, "Figure"),
      el("img", { src: address, alt: `Figure of ${answer.title}: every estimate with its 95 % interval, as in the table` }),
      el("p", {}, el("a", { href: address, download: "figure.svg" }, "Save figure.svg"))),
    !brief && el("details", { class: "code", id: "code" }, el("summary", {}, "Code for R, Stata and Python that gives the same numbers"),
      el("p", { class: "muted" }, "It reads the files that the Export step writes, in their folder."),
      ...PROGRAMS.map((one) => program(answer, one, context))),
  ].filter(Boolean);
}

function program(answer, [language, name, file], context) {
  const code = answer.code[language];
  return el("section", { "data-language": language },
    el("div", { class: "block-head" }, el("h4", {}, name), code.text
      && el("div", { class: "actions" }, copyButton(code.text, name, context), saveButton(code.text, file))),
    code.text ? el("pre", { tabindex: "0", "aria-label": `${name} code` }, code.text) : el("p", { class: "wrong" }, code.error));
}
