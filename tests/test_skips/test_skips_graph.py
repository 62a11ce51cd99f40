"""The routing graph: who is in it, and labels that cannot break its languages."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsoda.schema import Column, ColumnKind
from tabsoda.skips.graph import Edge, Node, RoutingGraph
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, SkipRule

A = Column("A", ColumnKind.NOMINAL, (1, 2), "Ever?", {2: "No"})
B = Column("B", ColumnKind.CONTINUOUS)
C = Column("C", ColumnKind.CONTINUOUS)
RULES = RuleSet(
    (
        SkipRule("r1", "B", ((Condition("A", (2,)),),)),
        SkipRule("r2", "C", ((Condition("A", (1,)), Condition("B", above=3)),)),
    ),
    (A, B, C, Column("unused", ColumnKind.CONTINUOUS)),
)


def test_edges_lead_from_gates_to_targets():
    graph = RULES.graph()
    assert [node.name for node in graph.nodes] == ["A", "B", "C"]
    assert graph.edges == (
        Edge("A", "B", "A is 2 'No'", "r1"),
        Edge("A", "C", "A is 1", "r2", ("B",)),
        Edge("B", "C", "B is above 3", "r2", ("A",)),
    )
    assert json.loads(json.dumps(graph.to_dict()))["edges"][0]["gate"] == "A"


def test_rejected_rules_and_their_columns_are_left_out():
    graph = RULES.reject("r2").graph()
    assert [node.name for node in graph.nodes] == ["A", "B"]


def test_mermaid():
    assert RULES.graph().to_mermaid().splitlines() == [
        "flowchart TD",
        '  n0["A<br/>Ever?"]',
        '  n1["B"]',
        '  n2["C"]',
        "  n0 -->|\"A is 2 'No'\"| n1",
        '  n0 -->|"A is 1 #40;together with B#41;"| n2',
        '  n1 -->|"B is above 3 #40;together with A#41;"| n2',
    ]


def test_dot():
    text = RULES.reject("r2").graph().to_dot()
    assert text.splitlines() == [
        "digraph routing {",
        "  node [shape=box];",
        '  "A" [label="A\\nEver?"];',
        '  "B" [label="B"];',
        '  "A" -> "B" [label="A is 2 \'No\'"];',
        "}",
    ]


@given(st.text(min_size=1), st.text())
def test_no_text_breaks_out_of_its_quotes(name, condition):
    # No two questions have the same name.
    target = f"{name}2"
    edge = Edge(name, target, condition, "r")
    graph = RoutingGraph((Node(name, condition), Node(target, "")), (edge,))
    quoted = r'"(?:[^"\\\n\r]|\\.)*"'
    lines = graph.to_dot().split("\n")
    assert len(lines) == 7
    assert re.fullmatch(rf"  {quoted} \[label={quoted}\];", lines[2])
    assert re.fullmatch(rf"  {quoted} -> {quoted} \[label={quoted}\];", lines[4])
    lines = graph.to_mermaid().split("\n")
    assert len(lines) == 5
    safe = r'(?:[^"#<>&`\n]|#\d+;|<br/>)*'
    assert re.fullmatch(rf'  n0\["{safe}"\]', lines[1])
    assert re.fullmatch(rf'  n0 -->\|"{safe}"\| n1', lines[3])


@pytest.mark.parametrize("text", ['say "hi"', "back\\slash", "two\nlines", "\\N \\G"])
def test_dot_gives_labels_back(text):
    written = RoutingGraph((Node("n", text),), ()).to_dot()
    label = re.search(r'label="((?:[^"\\]|\\.)*)"', written)[1]
    meaning = {"n": "\n", '"': '"', "\\": "\\"}
    assert re.sub(r"\\(.)", lambda match: meaning[match[1]], label) == f"n\n{text}"
