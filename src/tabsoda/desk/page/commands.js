// The commands, and the Python, that do what a step does, to copy.

import { el } from "../shared/dom.js";

function block(title, lines, context) {
  const text = lines.join("\n");
  const copy = el("button", { type: "button", class: "small", onclick: async () => {
    await navigator.clipboard.writeText(text);
    context.announce(`${title} copied.`);
    copy.textContent = "Copied";
  } }, "Copy");
  return el("div", { class: "block" },
    el("div", { class: "block-head" }, el("h4", {}, title), copy),
    el("pre", { tabindex: "0", role: "group", "aria-label": title }, text.split("\n").map(broken)));
}

// Broken at spaces only: browsers would also break after the hyphens of an option. What follows is
// indented, so that one sees where a command begins.
function broken(line) {
  const [indent] = line.match(/^ */);
  const words = line.slice(indent.length).split(/(?<= )/).map((word) => el("span", { class: "word" }, word));
  return el("span", { class: "line" }, indent, words);
}

export function commandsBlock({ shell, python }, context) {
  return [el("h3", {}, "The same as commands"),
    el("p", { class: "muted" }, "Run them in the project folder. They write the same files; --force replaces files that exist."),
    ...(shell.length ? [block("Shell", shell, context)] : []),
    ...(python.length ? [block("Python", python, context)] : [])];
}
