// The map of all cells by state, with its key.

import { el } from "../shared/dom.js";

const STATES = ["answered", "missing", "skipped"];

// "71.9 % answered, 5.2 % missing, 22.9 % skipped"; small counts are withheld.
export function sharesText(cells) {
  const total = STATES.reduce((sum, state) => sum + (cells[state] || 0), 0) || 1;
  return STATES.filter((state) => cells[state] !== null)
    .map((state) => `${(100 * cells[state] / total).toFixed(1)} % ${state}`).join(", ");
}

export function stateMap(address, cells, ticks) {
  const marks = el("div", { class: "ticks", "aria-hidden": "true" }, ticks.map((tick) => {
    const mark = el("span", {}, tick.name);
    mark.style.width = `${100 * tick.width}%`;
    return mark;
  }));
  return el("figure", {},
    el("img", { class: "map", src: address, alt: `Map of all cells: ${sharesText(cells)}.` }), marks,
    el("figcaption", { class: "muted" }, "Every question from left to right, respondents sorted by their pattern: ",
      STATES.flatMap((state) => [el("span", { class: `key ${state}` }, state), " "])));
}
