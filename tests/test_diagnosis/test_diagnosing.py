"""A diagnosis says of known methods what is known of them."""

from dataclasses import replace

import numpy as np
import pytest

from tabsoda.bench.methods.contract import Estimates
from tabsoda.bench.metrics.imputation_metrics import ColumnErrors
from tabsoda.bench.metrics.probability_scores import ranked_probability_scores
from tabsoda.diagnosis.diagnosing import diagnose, losses
from tabsoda.diagnosis.picture import render_diagnosis
from tabsoda.diagnosis.verdicts import judge, summarise_verdicts
from tabsoda.errors import InputError
from tabsoda.events import EventLog
from tabsoda.schema import Column, ColumnKind
from tabsoda.table import CodedTable


class Constant:
    """Gives every missing cell the same value; remembers what it was shown."""

    knows_skips = True

    def __init__(self, value):
        self.name, self.value = "constant", value

    def impute(self, table, seed, skip_view):
        self.seen = table
        filled = np.where(table.states.missing, self.value, table.values)
        return Estimates(filled, filled, {})


class Oracle(Constant):
    """Knows the truth."""

    def __init__(self, truth):
        self.name, self.truth = "oracle", truth

    def impute(self, table, seed, skip_view):
        self.seen = table
        filled = np.where(np.isnan(self.truth), 0.0, self.truth)
        return Estimates(filled, filled, {})


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    columns = (
        Column("gate", ColumnKind.NOMINAL, ("yes", "no"), label="<script>bad()</script>"),
        Column("often", ColumnKind.ORDINAL, (1, 2, 3, 4)),
        Column("age", ColumnKind.CONTINUOUS),
        Column("same", ColumnKind.NOMINAL, ("a", "b")),
    )
    n_rows = 1500
    values = np.column_stack(
        [rng.integers(0, 2, n_rows), rng.integers(0, 4, n_rows), rng.normal(0, 3, n_rows),
         np.zeros(n_rows)]
    ).astype(float)  # fmt: skip
    skipped = np.zeros(values.shape, bool)
    skipped[:, 1] = values[:, 0] == 1
    values[skipped] = np.nan
    return CodedTable.from_values(columns, values, skipped)


def test_errors_are_those_of_the_closed_form(table):
    mode = Constant(0.0)
    found = diagnose(table, {"mode": mode, "tabsoda": Oracle(table.values)}, share=0.2, seed=3)
    by_name = {one["name"]: one for one in found["variables"]}
    assert by_name["gate"]["methods"]["mode"]["error"] == pytest.approx(0.5, abs=0.07)
    # Always the lowest of four equally frequent levels: (0 + 1 + 2 + 3) / 4 levels off.
    assert by_name["often"]["methods"]["mode"]["error"] == pytest.approx(1.5, abs=0.2)
    # The mean of a number is one standard deviation off.
    assert by_name["age"]["methods"]["mode"]["error"] == pytest.approx(1.0, abs=0.1)
    for name in ("gate", "often", "age"):
        assert by_name[name]["methods"]["tabsoda"]["error"] == 0
        assert by_name[name]["methods"]["mode"]["relative"] == 1
        assert by_name[name]["verdict"] == "good"
    assert by_name["same"]["verdict"] == "constant"
    assert found["hidden"] == sum(one["hidden"] for one in found["variables"])
    assert 0.1 * table.states.answered.sum() < found["hidden"] <= 0.25 * table.states.answered.sum()


def test_no_method_sees_hidden_answers_or_what_gives_a_hidden_gate_away(table):
    mode, ours = Constant(0.0), Constant(0.0)
    diagnose(table, {"mode": mode, "tabsoda": ours}, share=0.2)
    seen = ours.seen
    assert np.array_equal(np.isnan(seen.values), ~seen.states.answered)
    hidden_gate = seen.states.missing[:, 0]
    assert hidden_gate.sum() > 200
    assert not seen.states.skipped[hidden_gate, 1].any()
    assert seen.states.skipped[~hidden_gate, 1].any()


def test_large_tables_are_sampled_and_this_is_logged(table):
    events = EventLog()
    methods = {"mode": Constant(0.0), "tabsoda": Constant(1.0)}
    found = diagnose(table, methods, most_rows=300, events=events)
    assert found["rows"] == 300
    assert [event.kind for event in events] == ["rows_sampled", "answers_hidden"]
    assert dict(events.events[0].counts) == {"rows": 300, "of_rows": table.shape[0]}
    assert events.events[1].counts["cells"] == found["hidden"]
    again = diagnose(table, methods, most_rows=300)
    assert again["variables"] == found["variables"]


def test_verdicts_need_more_than_luck():
    rng = np.random.default_rng(0)
    mode = rng.random(400)
    better = mode - 0.1 + 0.05 * rng.normal(size=400)
    best = better - 0.1 + 0.05 * rng.normal(size=400)
    noisy = mode - 0.001 + rng.normal(size=400)
    noisy += (mode.mean() - 1e-3) - noisy.mean()
    assert judge({"mode": mode, "tabsoda": better}, "mode")["verdict"] == "good"
    behind = judge({"mode": mode, "boosting": best, "tabsoda": better}, "mode")
    assert (behind["verdict"], behind["best"]) == ("behind", "boosting")
    assert judge({"mode": mode, "tabsoda": noisy}, "mode")["verdict"] == "unclear"
    assert judge({"mode": mode, "tabsoda": mode}, "mode")["verdict"] == "no better"
    assert judge({"mode": mode[:19], "tabsoda": better[:19]}, "mode")["verdict"] == "too few"


class Shares(Constant):
    """Gives the shares of the answers as probabilities, and the mode as estimate."""

    def __init__(self, shares_of):
        self.name, self.shares_of = "shares", shares_of

    def impute(self, table, seed, skip_view, progress=None):
        for share in (0.0, 0.5, 1.0):
            if progress is not None:
                progress(share)
        probabilities = self.shares_of(table)
        filled = np.where(np.isnan(table.values), 0.0, table.values)
        for position, given in probabilities.items():
            filled[:, position] = given.argmax(axis=1)
        return Estimates(filled, filled, probabilities)


def test_a_skewed_question_is_judged_by_a_proper_score():
    """One answers "rare" in ten, and the other question shows who may: the mode is right for all.

    Among those with risk 1 a third answers "rare", so nobody's most probable answer is "rare" and
    accuracy cannot tell the methods apart. Brier scores are p(1 - p): .09 overall against
    .7 x 0 + .3 x 2/9 = .067.
    """
    n_rows = 9000
    risk = np.arange(n_rows) % 10 < 3
    rare = risk & (np.arange(n_rows) // 10 % 3 == 0)
    columns = (
        Column("risk", ColumnKind.NOMINAL, (0, 1)),
        Column("rare", ColumnKind.NOMINAL, ("no", "rare")),
    )
    table = CodedTable.from_values(columns, np.column_stack([risk, rare]).astype(float))

    def overall(seen):
        shares = {0: [0.7, 0.3], 1: [0.9, 0.1]}
        return {p: np.tile(given, (n_rows, 1)) for p, given in shares.items()}

    def by_risk(seen):
        p_rare = np.where(seen.values[:, 0] == 1, 1 / 3, 0.0)
        p_rare[np.isnan(seen.values[:, 0])] = 0.1
        return overall(seen) | {1: np.column_stack([1 - p_rare, p_rare])}

    reports = []
    found = diagnose(
        table,
        {"mode": Shares(overall), "tabsoda": Shares(by_risk)},
        most_rows=n_rows,
        progress=lambda *what: reports.append(what),
    )
    rare = found["variables"][1]
    ours, theirs = rare["methods"]["tabsoda"], rare["methods"]["mode"]
    assert ours["accuracy"] == theirs["accuracy"]
    assert theirs["error"] == pytest.approx(0.09, abs=0.015)
    # A tenth of the risks is hidden, too.
    assert ours["error"] == pytest.approx(0.9 * 0.2 / 3 + 0.1 * 0.09, abs=0.015)
    assert rare["verdict"] == "good"
    done = [one[0] / one[1] for one in reports]
    assert done == sorted(done)
    assert done[-1] == 1
    assert {one[2] for one in reports} == {"mode", "tabsoda"}


def test_the_score_of_an_ordinal_is_in_levels():
    """A certain estimate scores the levels it is off; evenly split over two levels, a quarter."""
    column = Column("often", ColumnKind.ORDINAL, (1, 2, 3, 4))
    nothing = np.empty(0)
    off = np.array([0.0, 1.0, -3.0])
    certain = ColumnErrors(column, off, off, 1.0, nothing, nothing, nothing, nothing, nothing > 0)
    assert losses(certain).tolist() == [0, 1, 3]
    given = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [1.0, 0, 0, 0], [0.5, 0.5, 0, 0]])
    ranked = ranked_probability_scores(given, np.array([0, 0, 3, 1]))
    unsure = replace(certain, ranked=ranked)
    assert losses(unsure) == pytest.approx([0, 1, 3, 0.25])


def test_the_advice_names_questions_no_better_than_their_mode():
    variables = [
        {"name": "Q1", "verdict": "good", "best": "tabsoda"},
        {"name": "Q2", "verdict": "no better", "best": "mode"},
        {"name": "Q3", "verdict": "behind", "best": "boosting"},
        {"name": "Q4", "verdict": "too few", "best": None},
    ]
    text = " ".join(summarise_verdicts(variables, ["mode", "boosting", "tabsoda"]))
    assert "the overall distribution of answers for 2 of 3 questions" in text
    assert "no association with other questions: Q2." in text
    assert "boosting is clearly better than tabsoda for 1 question: Q3." in text


def test_the_page_draws_every_question_and_executes_no_label(table, browser, tmp_path):
    methods = {"mode": Constant(0.0), "boosting": Constant(1.0), "tabsoda": Oracle(table.values)}
    found = diagnose(table, methods, share=0.2)
    page = tmp_path / "diagnosis.html"
    page.write_text(render_diagnosis(found, "<img src=x onerror=alert(1)>"), encoding="utf-8")
    assert "<script" not in page.read_text(encoding="utf-8")
    browser.get(page.as_uri())
    assert browser.title == "How well answers can be imputed: <img src=x onerror=alert(1)>"
    marks = browser.find_elements("css selector", ".relative .k2")
    places = [float(mark.get_attribute("d")[1:].split()[0]) for mark in marks]
    # An oracle stands at zero, the left end of the axis, for each question that has an error.
    assert places == [190.0] * 3
    rows = browser.find_elements("css selector", "#questions tbody tr")
    assert len(rows) == 4


def test_nonsense_is_refused(table):
    with pytest.raises(InputError, match="out of range"):
        diagnose(table, {"mode": Constant(0.0), "tabsoda": Constant(0.0)}, share=1.0)
    with pytest.raises(InputError, match="not enough methods"):
        diagnose(table, {"mode": Constant(0.0)})
