// The routing graph: questions from top to bottom in questionnaire order, an arc for every skip.

import { svg } from "./dom.js";

const ROW = 22;
const LABELS = 92;
const WIDTH = 366;

function shorten(text, length) {
  if (length < 2) return "";
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

export function drawGraph(graph, { statusOf, selected, gate, choose }) {
  const place = new Map(graph.nodes.map((node, position) => [node.name, (position + 0.5) * ROW]));
  const gates = new Set(graph.edges.map((edge) => edge.gate));
  const lit = new Set(selected ? [selected.target, ...selected.gates] : []);
  const longest = Math.max(1, ...graph.edges.map((edge) => place.get(edge.target) - place.get(edge.gate)));
  const arcs = graph.edges.map((edge) => {
    const from = place.get(edge.gate);
    const to = place.get(edge.target);
    // Longer arcs bend further out; the square root separates the short ones.
    const bend = LABELS - 8 - (LABELS - 14) * Math.sqrt((to - from) / longest);
    const on = selected && edge.target === selected.target && selected.gates.includes(edge.gate);
    return svg("path", {
      class: `arc ${statusOf(edge.rule)}${on ? " on" : ""}`,
      d: `M ${LABELS - 4} ${from} C ${bend} ${from}, ${bend} ${to}, ${LABELS - 4} ${to}`,
    });
  });
  // Highlighted arcs are drawn last, above the others.
  arcs.sort((a, b) => a.classList.contains("on") - b.classList.contains("on"));
  const nodes = graph.nodes.map((node) => {
    const isGate = gates.has(node.name);
    const name = shorten(node.name, 20);
    const act = () => choose(node.name);
    return svg("g", {
      class: `node${isGate ? " gate" : ""}${lit.has(node.name) ? " on" : ""}${gate === node.name ? " chosen" : ""}`,
      transform: `translate(${LABELS}, ${place.get(node.name)})`,
      tabindex: 0,
      role: "button",
      "aria-pressed": gate === node.name ? "true" : "false",
      "data-node": node.name,
      onclick: act,
      onkeydown: (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); }
      },
    },
    // The title is the name for a screen reader; the text is cut off.
    svg("title", {}, node.label ? `${node.name}: ${node.label}` : node.name),
    svg("rect", { x: -4, y: -ROW / 2 + 1, width: WIDTH - LABELS + 2, height: ROW - 2, rx: 4 }),
    svg("circle", { cx: 2 + node.depth * 8, cy: 0, r: isGate ? 4 : 2.5 }),
    svg("text", { x: 11 + node.depth * 8, y: 4, "aria-hidden": "true" },
      name, svg("tspan", { class: "text", dx: 6 }, shorten(node.label, Math.max(0, 29 - name.length - 2 * node.depth)))));
  });
  const height = graph.nodes.length * ROW + 2;
  return svg("svg", {
    viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: "group",
    "aria-label": `Routing graph of ${graph.nodes.length} questions`,
  }, ...arcs, ...nodes);
}
