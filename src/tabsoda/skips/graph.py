"""The routing graph of a rule set: which question skips which."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tabsoda.skips.sentences import condition_text

if TYPE_CHECKING:
    from tabsoda.skips.rule_set import RuleSet


@dataclass(frozen=True)
class Node:
    """A question that is a gate or a target."""

    name: str
    label: str


@dataclass(frozen=True)
class Edge:
    """A gate, its condition, and the question that is skipped when the condition holds.

    ``together_with`` names the other gates of the same path: all must hold.
    """

    gate: str
    target: str
    condition: str
    rule: str
    together_with: tuple[str, ...] = ()

    @property
    def caption(self) -> str:
        """The condition, and the other gates of the same path."""
        others = f" (together with {', '.join(self.together_with)})" if self.together_with else ""
        return self.condition + others


@dataclass(frozen=True)
class RoutingGraph:
    """Gates and targets in questionnaire order, and one edge per condition of an active rule.

    Examples
    --------
    >>> graph = RoutingGraph((Node("A", ""), Node("B", "")), (Edge("A", "B", "A is 2", "r1"),))
    >>> print(graph.to_mermaid())
    flowchart TD
      n0["A"]
      n1["B"]
      n0 -->|"A is 2"| n1
    <BLANKLINE>
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, rules: RuleSet) -> RoutingGraph:
        """Return the graph of the rules that are not rejected."""
        columns = rules.column_of
        edges = tuple(
            Edge(
                condition.column,
                rule.target,
                condition_text(condition, columns[condition.column]),
                rule.identifier,
                tuple(dict.fromkeys(c.column for c in path if c is not condition)),
            )
            for rule in rules.active
            for path in rule.any_of
            for condition in path
        )
        used = {name for edge in edges for name in (edge.gate, edge.target)}
        nodes = tuple(Node(c.name, c.label) for c in rules.columns if c.name in used)
        return cls(nodes, edges)

    def to_dict(self) -> dict[str, Any]:
        """Return nodes and edges as plain values, ready for JSON."""
        return {
            "nodes": [asdict(node) for node in self.nodes],
            "edges": [asdict(edge) for edge in self.edges],
        }

    def to_mermaid(self) -> str:
        """Return a Mermaid flowchart."""
        number = {node.name: f"n{position}" for position, node in enumerate(self.nodes)}
        lines = ["flowchart TD"]
        lines += [f'  {number[node.name]}["{_mermaid(_caption(node))}"]' for node in self.nodes]
        lines += [
            f'  {number[edge.gate]} -->|"{_mermaid(edge.caption)}"| {number[edge.target]}'
            for edge in self.edges
        ]
        return "\n".join(lines) + "\n"

    def to_dot(self) -> str:
        """Return a Graphviz digraph."""
        lines = ["digraph routing {", "  node [shape=box];"]
        lines += [f"  {_dot(node.name)} [label={_dot(_caption(node))}];" for node in self.nodes]
        lines += [
            f"  {_dot(edge.gate)} -> {_dot(edge.target)} [label={_dot(edge.caption)}];"
            for edge in self.edges
        ]
        return "\n".join([*lines, "}"]) + "\n"


def _caption(node: Node) -> str:
    return f"{node.name}\n{node.label}" if node.label else node.name


def _mermaid(text: str) -> str:
    """Escape what Mermaid or a browser would interpret; write a new line as <br/>."""
    safe = "".join(
        character if character.isalnum() or character in " .,:;_'?!-+\n" else f"#{ord(character)};"
        for character in text
    )
    return safe.replace("\n", "<br/>")


def _dot(text: str) -> str:
    """Quote for Graphviz, where a backslash in a label is an escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", " ")
    return '"' + escaped.replace("\n", "\\n").replace("\0", " ") + '"'
