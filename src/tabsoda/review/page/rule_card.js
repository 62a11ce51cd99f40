// One rule: its sentence; if selected, also counts, patterns, note and buttons.

import { el, key, number, percent, when } from "./dom.js";

const STATUS = { approved: "✓ approved", rejected: "✗ rejected", proposed: "not reviewed" };
const KINDS = {
  contradicts: "fires, but asked",
  explained: "fires, blank",
  unexplained: "silent, blank",
  asked: "silent, asked",
};

export function ruleCard(rule, { selected, draft, patterns, actions, textOf, siblings }) {
  const card = el("article", {
    class: `rule ${rule.status}`,
    tabindex: selected ? 0 : -1,
    "aria-current": selected ? "true" : null,
    "data-rule": rule.id,
    onclick: () => actions.select(rule.id),
  },
  el("div", { class: "head" },
    el("span", { class: "id" }, rule.id),
    el("h2", {}, el("strong", {}, rule.target), ` is skipped when ${rule.reasons}`),
    el("span", { class: `status ${rule.status}` }, STATUS[rule.status])),
  el("dl", { class: "texts" }, ...[rule.target, ...rule.gates].map((name) => textOf(name)
    ? el("div", {}, el("dt", {}, name), el("dd", {}, textOf(name))) : null)),
  el("p", { class: "brief" }, counted(rule), ...rule.flags.map(flagChip)),
  signed(rule));
  if (selected) card.append(details(rule, draft, patterns, actions, siblings));
  return card;
}

function counted({ counts }) {
  return `Fires on ${number(counts.fired_blank)} blank and ${number(counts.fired_asked)} asked; `
    + `silent on ${number(counts.silent_blank)} blank and ${number(counts.silent_asked)} asked.`;
}

function flagChip(flag) {
  return el("span", { class: "flag", title: flag.text }, flag.kind);
}

function signed(rule) {
  if (!rule.by && !rule.at && !rule.note) return null;
  const last = rule.history.at(-1);
  const who = rule.by || rule.at ? `${last ? last.did : rule.status} by ${rule.by}, ${when(rule.at)}` : "";
  return el("p", { class: "signed" }, who, who && rule.note ? ": " : "", rule.note);
}

function details(rule, draft, patterns, actions, siblings) {
  const note = el("textarea", {
    id: "note", rows: 2, maxlength: 4000, "aria-describedby": "note-hint",
    oninput: (event) => actions.draft(rule.id, event.target.value),
  });
  note.value = draft ?? rule.note;
  return el("div", { class: "details" },
    el("div", { class: "evidence" }, countsTable(rule), reading(rule)),
    rivals(rule, actions),
    el("div", { id: "patterns" }, patternsTable(patterns)),
    el("div", { class: "note" },
      el("label", { for: "note" }, "Note: why? ", key("n")),
      note,
      el("span", { id: "note-hint", class: "muted" },
        "Saved with your decision, or by itself with Ctrl+Enter.")),
    el("div", { class: "actions" },
      button("Approve", "a", "approve", () => actions.decide("approve")),
      button("Reject", "r", "reject", () => actions.decide("reject")),
      button("Edit", "e", "", () => actions.edit()),
      rule.status === "proposed" ? null : button("Reopen", "o", "", () => actions.decide("reopen")),
      button("Save note", "Ctrl ⏎", "", () => actions.decide("note"))),
    together(rule, siblings, actions),
    history(rule));
}

// Buttons that decide on all rules of this rule's gates at once.
function together(rule, siblings, actions) {
  const groups = siblings(rule);
  if (!groups.length) return null;
  return el("div", { class: "actions together" }, ...groups.flatMap(({ gate, ids }) => [
    plain(`Approve all ${ids.length} rules of ${gate}`, () => actions.decideAll("approve", gate, ids)),
    plain(`Reject all ${ids.length}`, () => actions.decideAll("reject", gate, ids)),
  ]));
}

function plain(text, act) {
  return el("button", { type: "button", class: "small", onclick: (event) => { event.stopPropagation(); act(); } }, text);
}

function rivals(rule, actions) {
  if (!rule.rivals.length) return null;
  return el("div", { class: "rivals" },
    el("h3", {}, "Other conditions that fit as well"),
    el("ul", {}, ...rule.rivals.map((rival, index) => el("li", {},
      `Skipped when ${rival.reasons}. `,
      el("span", { class: "muted" }, counted(rival)),
      " ", plain("Use this instead", () => actions.chooseRival(rule.id, index))))));
}

function button(text, letter, kind, act) {
  return el("button", {
    type: "button", class: kind,
    onclick: (event) => { event.stopPropagation(); act(); },
  }, `${text} `, key(letter));
}

function countsTable({ counts }) {
  const row = (name, blank, asked, wrong) => el("tr", {},
    el("th", { scope: "row" }, name),
    el("td", {}, number(blank)),
    el("td", { class: wrong && asked !== 0 ? "wrong" : null }, number(asked)));
  return el("table", { class: "counts" },
    el("caption", {}, "Respondents"),
    el("thead", {}, el("tr", {}, el("td"), el("th", { scope: "col" }, "blank"),
      el("th", { scope: "col" }, "asked"))),
    el("tbody", {},
      row("rule fires", counts.fired_blank, counts.fired_asked, true),
      row("rule silent", counts.silent_blank, counts.silent_asked, false)));
}

function reading(rule) {
  const lines = rule.flags.map((flag) => el("li", {}, el("span", { class: "flag" }, flag.kind), ` ${flag.text}`));
  if (rule.precision_lower !== null && rule.counts.fired_blank + rule.counts.fired_asked > 0) {
    lines.push(el("li", {}, `Where it fires, the question was blank: at least ${percent(rule.precision_lower)} of the time (lower bound).`));
  }
  if (rule.coverage !== null) {
    lines.push(el("li", {}, `It explains ${percent(rule.coverage)} of the question's blanks.`));
  }
  if (Object.values(rule.counts).includes(null)) {
    lines.push(el("li", {}, "– : hidden, because this count or another one in the table is small."));
  }
  if (rule.universe) lines.push(el("li", {}, `Who was asked, according to the codebook: ${rule.universe}`));
  return el("ul", { class: "reading" }, ...lines);
}

export function patternsTable(patterns) {
  if (!patterns) return el("p", { class: "muted" }, "Counting patterns …");
  if (!patterns.patterns.length) return el("p", { class: "muted" }, "No pattern can be shown.");
  const head = [...patterns.gates, patterns.target].map((name) => el("th", { scope: "col" }, name));
  const rows = patterns.patterns.map((pattern) => el("tr", { class: pattern.kind },
    el("td", {}, KINDS[pattern.kind]),
    ...pattern.gates.map((text) => el("td", {}, text)),
    el("td", {}, pattern.target),
    el("td", { class: "number" }, number(pattern.count))));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Example patterns" },
    el("table", { class: "patterns" },
      el("caption", {}, "What people answered: the most frequent patterns"),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "the rule"), ...head,
        el("th", { scope: "col", class: "number" }, "people"))),
      el("tbody", {}, ...rows)));
}

function history(rule) {
  if (!rule.history.length) return null;
  const items = [...rule.history].reverse().map((entry) => el("li", {},
    `${when(entry.at)}, ${entry.by}: ${entry.did}`,
    entry.why ? ` (${entry.why})` : "",
    entry.before ? el("div", { class: "muted" }, `before: ${entry.before}`) : null));
  return el("details", { class: "history" },
    el("summary", {}, `${rule.history.length} earlier decision${rule.history.length > 1 ? "s" : ""}`),
    el("ol", { reversed: true }, ...items));
}
