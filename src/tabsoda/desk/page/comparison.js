// Observed against imputed answers of a question, as bars or curves with their numbers.

import { el, svg } from "../shared/dom.js";
import { scroller } from "./controls.js";

const KEYS = ["mean", "sd", "p5", "p25", "p50", "p75", "p95"];
const HEADS = ["Mean", "SD", "5 %", "25 %", "50 %", "75 %", "95 %"];

export function percentText(share) {
  if (share === null || share === undefined) return "–";
  if (share > 0 && share < 0.0005) return "<0.1 %";
  return `${(100 * share).toFixed(1)} %`;
}

export function figure(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 10000 ? Math.round(value).toLocaleString("en-US") : String(Number(value.toPrecision(4)));
}

export function count(value, below) {
  return value === null ? `<${below}` : value.toLocaleString("en-US");
}

function bars(row) {
  const width = (share) => 100 * (share || 0);
  return svg("svg", { class: "pair", viewBox: "0 0 100 11", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "observed", width: width(row.observed), height: 5 }),
    svg("rect", { class: "imputed", y: 6, width: width(row.imputed), height: 5 }),
    row.low !== null && row.high > row.low
      && svg("path", { class: "reach", d: `M${width(row.low)} 8.5H${width(row.high)}` }));
}

function levels(rows, below) {
  return scroller("Answers", el("table", { class: "levels" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Answer"), el("td", { class: "wide" }),
      el("th", { scope: "col", class: "number" }, "Observed"), el("th", { scope: "col", class: "number" }, "Imputed"))),
    el("tbody", {}, rows.map((row) => el("tr", {},
      el("th", { scope: "row" }, [row.level, row.label !== row.level && row.label].filter(Boolean).join(" ")),
      el("td", { class: "wide" }, bars(row)),
      el("td", { class: "number" }, row.count === null ? `<${below}` : percentText(row.observed)),
      el("td", { class: "number" }, percentText(row.imputed)))))));
}

function curve({ x, observed, imputed }) {
  const [width, height, bottom] = [360, 130, 110];
  const top = Math.max(...observed, ...imputed, 1e-12);
  const across = (value) => 6 + ((value - x[0]) / (x[x.length - 1] - x[0])) * (width - 12);
  const up = (value) => bottom - (value / top) * (bottom - 8);
  const line = (values) => values.map((v, i) => `${i ? "L" : "M"}${across(x[i]).toFixed(1)} ${up(v).toFixed(1)}`).join("");
  const marks = [x[0], x[Math.floor(x.length / 2)], x[x.length - 1]];
  return svg("svg", { class: "curve", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": "Density of observed answers (area) and imputed answers (line)" },
    observed.length && svg("path", { class: "area", d: `M6 ${bottom}${line(observed).replace("M", "L")}L${width - 6} ${bottom}Z` }),
    imputed.length && svg("path", { class: "line", d: line(imputed) }),
    svg("path", { class: "axis", d: `M6 ${bottom}H${width - 6}` }),
    marks.map((value, place) => svg("text", { x: across(value), y: bottom + 14,
      "text-anchor": ["start", "middle", "end"][place] }, figure(value))));
}

function numbers(found, below) {
  const row = (name, one) => el("tr", {}, el("th", { scope: "row" }, name),
    KEYS.map((key) => el("td", { class: "number" }, one ? figure(one[key]) : "–")));
  return [found.bands ? levels(found.bands, below) : found.density && curve(found.density),
    scroller("Distribution", el("table", { class: "levels summary" },
      el("thead", {}, el("tr", {}, el("td", {}), HEADS.map((text) => el("th", { scope: "col", class: "number" }, text)))),
      el("tbody", {}, row("Observed", found.observed), row("Imputed", found.imputed))))];
}

export function comparison(found, below) {
  if (found.shares) return [levels(found.shares, below)];
  return found.numbers ? numbers(found.numbers, below) : [];
}

export function legend(found) {
  const bars = found.shares || (found.numbers && found.numbers.bands);
  return el("p", { class: "legend muted" }, el("i", { class: "swatch observed" }), "observed ",
    el("i", { class: "swatch imputed" }), bars ? "imputed, with the range over the draws" : "imputed");
}
