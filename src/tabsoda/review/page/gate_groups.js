// Rules that share a gate, to be decided together.

// The unreviewed rules of each gate of a rule, if there are several.
export function openRulesOfGates(rule, rules) {
  return rule.gates.map((gate) => ({
    gate,
    ids: rules.filter((other) => other.status === "proposed" && other.gates.includes(gate))
      .map((other) => other.id),
  })).filter(({ ids }) => ids.length > 1);
}

// Asks for confirmation to decide on all of them, and names those that need attention.
export function confirmAll(action, gate, chosen) {
  const doubtful = chosen.filter((rule) => rule.flags.length > 0).map((rule) => rule.id);
  const verb = action === "approve" ? "Approve" : "Reject";
  const warning = doubtful.length ? `\n\n${doubtful.length} need attention: ${doubtful.join(", ")}.` : "";
  return window.confirm(`${verb} the ${chosen.length} rules of ${gate} at once?${warning}`);
}
