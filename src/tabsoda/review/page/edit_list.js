// The edits of the description: rules that answers satisfy together, approved one by one.

import { get, post } from "./api.js";
import { el, number } from "./dom.js";

function item(edit, place, decide) {
  const counts = `${number(edit.known)} respondents with all answers, ${number(edit.violated)} exceptions`;
  return el("li", { class: edit.approved ? "approved" : "proposed" },
    el("code", {}, edit.rule),
    el("p", { class: "muted" }, edit.label || `${edit.name ? `${edit.name}: ` : ""}${counts}`),
    el("button", {
      type: "button",
      "aria-pressed": edit.approved ? "true" : "false",
      onclick: () => decide(place, !edit.approved, edit.rule),
    }, edit.approved ? "Approved: take back" : "Approve"));
}

function show(panel, content, refuse) {
  panel.hidden = content.edits.length === 0;
  const open = content.edits.filter((edit) => !edit.approved).length;
  const decide = async (place, approved, rule) => {
    try {
      show(panel, await post("edits", { number: place, approved, rule }), refuse);
    } catch (error) {
      refuse(error.message);
    }
  };
  panel.querySelector("summary").textContent = `Edits (${open} not approved)`;
  panel.querySelector("p").textContent = `Rules that answers satisfy together, in ${content.file}. `
    + "Only approved ones are applied.";
  panel.querySelector("ol").replaceChildren(...content.edits.map((edit, place) => item(edit, place, decide)));
}

export async function loadEdits(panel, refuse) {
  try {
    show(panel, await get("edits"), refuse);
  } catch (error) {
    refuse(error.message);
  }
}
