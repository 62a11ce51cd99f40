"""A form's conditions become rules that fire exactly where the form hides the question."""

import operator
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabsoda.questionnaire.answer_sets import _selected
from tabsoda.questionnaire.columns import FormColumns
from tabsoda.questionnaire.expressions import Call, Expression, Literal, Operation, Reference
from tabsoda.questionnaire.form import Answers, Form, Question
from tabsoda.questionnaire.rules import form_rules
from tabsoda.schema import Column, ColumnKind
from tabsoda.schema.column import Reason
from tabsoda.skips.rules import RuleStatus
from tabsoda.states.cell_states import CellState, CellStates, reason_code
from tabsoda.table import CodedTable

COLUMNS = (
    Column("one", ColumnKind.NOMINAL, ("a", "b", "c"), special_codes={"dk": Reason.DONT_KNOW}),
    Column("age", ColumnKind.CONTINUOUS, special_codes={-9: Reason.REFUSED}),
    Column("many/x", ColumnKind.NOMINAL, (0, 1)),
    Column("many/y", ColumnKind.NOMINAL, (0, 1)),
    Column("target", ColumnKind.NOMINAL, ("u", "v")),
)
FOUND = FormColumns(
    {"one": "one", "age": "age", "target": "target"}, {"many": {"x": "many/x", "y": "many/y"}}
)
GATES = (
    Question("one", Answers.ONE, shown_text="sometimes"),
    Question("age", Answers.WHOLE, shown_text="sometimes"),
    Question("many", Answers.SEVERAL, options={"x": "", "y": ""}, shown_text="sometimes"),
)
# What a respondent may have: an answer, a code for a reason, or nothing because it was skipped.
STATES = {
    "one": ["a", "b", "c", "dk", None],
    "age": [16.0, 17.0, 18.0, 40.0, -9.0, None],
    "many/x": [0, 1, None],
    "many/y": [0, 1, None],
}
COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ROWS = [dict(zip(STATES, chosen, strict=True)) for chosen in product(*STATES.values())]


def form_with(condition: Expression) -> Form:
    target = Question("target", Answers.ONE, shown_when=(condition,), shown_text="x")
    return Form("form.xlsx", "XLSForm", (*GATES, target))


def table_of(rows: list[dict[str, object]]) -> CodedTable:
    values = np.full((len(rows), len(COLUMNS)), np.nan)
    states = np.full(values.shape, CellState.ANSWERED, dtype=np.uint8)
    reasons = np.zeros(values.shape, dtype=np.uint8)
    for number, row in enumerate(rows):
        for place, column in enumerate(COLUMNS[:-1]):
            given = row[column.name]
            if given is None:
                states[number, place] = CellState.SKIPPED
                reasons[number, place] = reason_code(Reason.SKIP)
            elif given in column.special_codes:
                states[number, place] = CellState.MISSING
                reasons[number, place] = reason_code(column.special_codes[given])
            else:
                is_level = column.is_categorical
                values[number, place] = column.levels.index(given) if is_level else given
        states[number, -1] = CellState.MISSING
        reasons[number, -1] = reason_code(Reason.BLANK)
    names = tuple(column.name for column in COLUMNS)
    return CodedTable(COLUMNS, values, CellStates(states, reasons, names))


def evaluate(expression: Expression, row: dict[str, object]) -> bool:
    """Evaluate as a form does: what was not answered is an empty text."""
    match expression:
        case Operation("and", left, right):
            return evaluate(left, row) and evaluate(right, row)
        case Operation("or", left, right):
            return evaluate(left, row) or evaluate(right, row)
        case Call("not", (inner,)):
            return not evaluate(inner, row)
        case Operation(sign, Call("count-selected", _), Literal(value)):
            return COMPARE[sign](sum(row[f"many/{code}"] == 1 for code in "xy"), value)
        case Operation(sign, Literal(value), Call("count-selected", _)):
            return COMPARE[sign](value, sum(row[f"many/{code}"] == 1 for code in "xy"))
        case Call("selected", (Reference("many"), Literal(code))):
            return row[f"many/{code}"] == 1
        case Call("selected", (Reference(name), Literal(code))):
            return row[name] == code
        case Operation(sign, Reference(name), Literal(value)):
            own = row[name]
            if sign in ("=", "!="):
                same = (own is None and value == "") or own == value
                return same == (sign == "=")
            return own is not None and COMPARE[sign](own, value)
    raise AssertionError(expression)


AGE = st.builds(
    Operation,
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    st.just(Reference("age")),
    st.builds(Literal, st.sampled_from([16.0, 17.0, 18.0, 40.0])),
)
ONE = st.builds(
    Operation,
    st.sampled_from(["=", "!="]),
    st.just(Reference("one")),
    st.builds(Literal, st.sampled_from(["a", "b", "dk", ""])),
)
SELECTED = st.builds(
    Call,
    st.just("selected"),
    st.sampled_from(
        [
            (Reference("many"), Literal("x")),
            (Reference("many"), Literal("y")),
            (Reference("one"), Literal("c")),
        ]
    ),
)
COUNT = Call("count-selected", (Reference("many"),))
# All of them are true for some respondents and false for others.
COUNTED = st.sampled_from(
    [
        *(Operation(sign, COUNT, Literal(1.0)) for sign in COMPARE),
        *(Operation(sign, Literal(1.0), COUNT) for sign in COMPARE),
        *(Operation(sign, COUNT, Literal(2.0)) for sign in ("=", "!=", "<", ">=")),
        *(Operation(sign, COUNT, Literal(0.0)) for sign in ("=", "!=", ">", "<=")),
        *(Operation(sign, COUNT, Literal(0.5)) for sign in ("<", "<=", ">", ">=")),
    ]
)
CONDITIONS = st.recursive(
    st.one_of(AGE, ONE, SELECTED, COUNTED),
    lambda inner: st.one_of(
        st.builds(Operation, st.sampled_from(["and", "or"]), inner, inner),
        st.builds(lambda one: Call("not", (one,)), inner),
    ),
    max_leaves=5,
)


@given(CONDITIONS)
@settings(max_examples=150, deadline=None)
def test_rules_fire_where_the_form_hides_the_question(condition: Expression) -> None:
    hidden = np.array([not evaluate(condition, row) for row in ROWS])
    found = form_rules(form_with(condition), COLUMNS, FOUND)
    if not len(found.rules):
        # Never hidden, or not a rule: then it is listed.
        assert not hidden.any() or found.untranslated
        return
    assert not found.untranslated
    fired = found.rules.rules[0].fires(table_of(ROWS))
    np.testing.assert_array_equal(fired, hidden)


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (Operation("=", Reference("nobody"), Literal("a")), "'nobody' is not a question"),
        (Operation("=", Reference("target"), Literal("u")), "not asked before"),
        (Operation("=", Reference("many"), Literal("x")), "several answers at once"),
        (Call("selected", (Reference("many"), Literal("z"))), "no column for option 'z'"),
        (Operation("<", Reference("age"), Reference("one")), "more than one question"),
        (Operation("=", Reference("age"), Literal("old")), "'age' is a number, and 'old' is not"),
        (Operation("=", Reference("one"), Literal("aa")), "'aa' is not an answer to 'one'"),
        (Operation("!=", Reference("one"), Literal("aa")), "'aa' is not an answer to 'one'"),
        (Call("today", ()), "the function today\\(\\) is not translated"),
        (Call("false", ()), "it is never true"),
        (Operation(">", COUNT, Literal(2.0)), "it is never true"),
        (Operation("=", COUNT, Reference("age")), "compared with something else than a number"),
        (
            Operation("=", Call("count-selected", (Reference("age"),)), Literal(1.0)),
            "needs a question with several answers",
        ),
        (Reference("age"), "it is not a comparison"),
    ],
)
def test_what_no_rule_can_say_is_listed(condition: Expression, why: str) -> None:
    found = form_rules(form_with(condition), COLUMNS, FOUND)
    assert len(found.rules) == 0
    (one,) = found.untranslated
    assert one.question == "target"
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(one.why)


def test_one_part_that_is_not_understood_leaves_the_others() -> None:
    """Shown if A and B: hidden where A is false, whatever B means."""
    known = Operation("=", Reference("one"), Literal("a"))
    found = form_rules(form_with(Operation("and", known, Call("today", ()))), COLUMNS, FOUND)
    assert len(found.untranslated) == 1
    (rule,) = found.rules
    fired = rule.fires(table_of(ROWS))
    np.testing.assert_array_equal(fired, [row["one"] != "a" for row in ROWS])


def test_rules_of_a_form_are_approved_by_it() -> None:
    (rule,) = form_rules(
        form_with(Operation(">", Reference("age"), Literal(17.0))), COLUMNS, FOUND
    ).rules
    assert rule.status is RuleStatus.APPROVED
    assert rule.by == "questionnaire form.xlsx"


def test_a_gate_that_is_always_shown_is_not_said_to_be_skipped() -> None:
    gates = (Question("one", Answers.ONE), *GATES[1:])
    condition = Operation("=", Reference("one"), Literal("a"))
    target = Question("target", Answers.ONE, shown_when=(condition,), shown_text="x")
    rules = form_rules(Form("f", "XLSForm", (*gates, target)), COLUMNS, FOUND).rules
    assert rules.sentences() == (
        "target is skipped when one is anything but a, or was answered with 'don't know'",
    )


@pytest.mark.parametrize("code", [7, 1234567])
def test_selected_finds_codes_of_any_length(code):
    assert _selected(Call("selected", (Reference("jobs"), Literal(float(code))))) == (
        "jobs",
        str(code),
    )
