"""Shifts of imputed answers: closed forms, reasons, groups, gates, and R's mice."""

import json
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from tabsoda import read_survey
from tabsoda.analysis import Shift, pooled_mean, pooled_model, pooled_proportions, sensitivity
from tabsoda.analysis.shifting import find_gates, plan_shift, shifted_result
from tabsoda.analysis.tilting import LevelProbabilities, concentration
from tabsoda.cli.main import main
from tabsoda.errors import InputError
from tabsoda.followers import find_followers
from tabsoda.results import Imputations, ImputedCells
from tabsoda.schema import Column, ColumnKind
from tabsoda.skips.rule_set import RuleSet
from tabsoda.skips.rules import Condition, RuleStatus, SkipRule
from tabsoda.table import CodedTable

DESCRIPTION = [
    {"name": "wt", "type": "continuous", "role": "weight"},
    {"name": "age", "type": "continuous"},
    {
        "name": "income",
        "type": "continuous",
        "refused_codes": [-8],
        "dont_know_codes": [-9],
    },
    {"name": "sex", "type": "nominal", "levels": [1, 2]},
    {"name": "health", "type": "ordinal", "levels": [1, 2, 3, 4, 5]},
    {"name": "party", "type": "nominal", "levels": ["left", "right", "none"]},
    {
        "name": "smokes",
        "type": "nominal",
        "levels": [1, 2],
        "level_labels": {"1": "Yes", "2": "No"},
    },
    {"name": "cigarettes", "type": "continuous", "skip_codes": [-1]},
]
INCOME, HEALTH, PARTY, SMOKES, CIGARETTES = 1, 3, 4, 5, 6
N = 400


@pytest.fixture(scope="module")
def result():
    """Return a result of 400 respondents and 20 draws; 100 incomes are imputed."""
    generator = np.random.default_rng(8)
    age = generator.integers(18, 80, N)
    income = np.round(20 + 0.3 * age + generator.normal(0, 10, N), 1)
    income[:60], income[60:100] = -8, -9
    health = generator.integers(1, 6, N).astype(float)
    health[100:160] = np.nan
    party = np.array(["left", "right", "none"])[generator.integers(0, 3, N)].astype(object)
    party[160:280] = None
    smokes = generator.integers(1, 3, N).astype(float)
    cigarettes = np.where(smokes == 2, -1.0, generator.integers(1, 30, N))
    # Who smokes is unknown for 50; the last 10 of them were asked how much, so they smoke.
    smokes[280:330], cigarettes[280:320] = np.nan, np.nan
    cigarettes[320:330] = 7
    frame = pl.DataFrame(
        {
            "wt": generator.uniform(1, 3, N),
            "age": age,
            "income": income,
            "sex": generator.integers(1, 3, N),
            "health": pl.Series(health).fill_nan(None),
            "party": pl.Series(party.tolist(), dtype=pl.String),
            "smokes": pl.Series(smokes).fill_nan(None),
            "cigarettes": pl.Series(cigarettes).fill_nan(None),
        }
    )
    survey = read_survey(frame, DESCRIPTION)
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.empty((20, len(rows)))
    for cell, (row, position) in enumerate(zip(rows, positions, strict=True)):
        if position == INCOME:
            draws[:, cell] = np.round(generator.normal(20 + 0.3 * age[row], 10, 20), 1)
        elif position == CIGARETTES:
            gate = np.flatnonzero((rows == row) & (positions == SMOKES))[0]
            drawn = generator.integers(1, 30, 20).astype(float)
            draws[:, cell] = np.where(draws[:, gate] == 0, drawn, np.nan)
        elif position == SMOKES and row >= 320:
            draws[:, cell] = 0
        else:
            top = {HEALTH: 5, PARTY: 3, SMOKES: 2}[position]
            draws[:, cell] = generator.integers(0, top, 20)
    cells = ImputedCells(rows, positions, draws, draws[0].copy(), draws[0].copy())
    return Imputations(survey.table, cells, survey)


@pytest.fixture(scope="module")
def few(result):
    """Return the first three draws, for models."""
    cells = result.cells
    return Imputations(
        result.table,
        ImputedCells(cells.rows, cells.positions, cells.draws[:3], cells.mode, cells.median),
        result.survey,
    )


def mean(name, **options):
    return lambda result: pooled_mean(result, name, design=None, **options)


def observed_sd(result):
    values = result.table.values[:, INCOME]
    return float(np.nanstd(values, ddof=1))


def test_a_mean_moves_by_delta_times_the_imputed_share_times_the_sd(result):
    found = sensitivity(result, mean("income"), "income=-1..1")
    start = pooled_mean(result, "income", design=None).estimates[0]
    assert [point.deltas[0] for point in found.points] == [-1 + k / 4 for k in range(9)]
    for point in found.points:
        expected = start + point.deltas[0] * 0.25 * observed_sd(result)
        assert point.estimate == pytest.approx(expected, abs=1e-9)
    weights = result.survey.frame["wt"].to_numpy()
    share = weights[:100].sum() / weights.sum()
    found = sensitivity(result, lambda r: pooled_mean(r, "income"), "income=2")
    assert [point.deltas[0] for point in found.points] == [0, 2]
    moved = found.points[1].estimate - found.points[0].estimate
    assert moved == pytest.approx(2 * share * observed_sd(result), abs=1e-9)
    # The original is as it was.
    assert pooled_mean(result, "income", design=None).estimates[0] == start


def test_reasons_and_groups_are_shifted_apart(result):
    def moved(text):
        found = sensitivity(result, mean("income"), text)
        return found.points[-1].estimate - found.reference.estimate, found.planned[0].n_cells

    sd = observed_sd(result)
    assert moved("income:refused=0..1:1") == (pytest.approx(60 / N * sd), 60)
    assert moved("income:dont_know=0..1:1") == (pytest.approx(40 / N * sd), 40)
    assert moved("income:refused+dont_know=0..1:1") == (pytest.approx(100 / N * sd), 100)
    women = int((result.survey.frame["sex"].to_numpy()[:100] == 2).sum())
    assert moved("income where sex == 2=0..5:5 units") == (pytest.approx(5 * women / N), women)
    both = sensitivity(
        result, mean("income"), ["income:refused=-1..1:1", "income:dont_know=0..1:1"]
    )
    assert len(both.points) == 6
    assert both.curves == [(0.0,), (1.0,)]
    for point in both.points:
        first, second = point.deltas
        expected = both.reference.estimate + sd * (60 * first + 40 * second) / N
        assert point.estimate == pytest.approx(expected)


def test_a_group_that_is_imputed_is_that_of_the_draw(result):
    planned = plan_shift(result, Shift(("cigarettes",), 0, 5, where="smokes == 1", unit="units"))
    shifted = shifted_result(result, [planned], [5.0])
    here = result.cells.positions == CIGARETTES
    before, after = result.cells.draws[:, here], shifted.cells.draws[:, here]
    # Skipped followers stay skipped; others move.
    assert np.isnan(before).any()
    np.testing.assert_array_equal(np.isnan(after), np.isnan(before))
    asked = ~np.isnan(before)
    np.testing.assert_allclose(after[asked], before[asked] + 5)


def test_questions_are_shifted_together(result):
    found = sensitivity(result, mean("cigarettes"), "income,cigarettes=0..3:3 units")
    alone = sensitivity(result, mean("cigarettes"), "cigarettes=0..3:3 units")
    assert found.points[-1].estimate == alone.points[-1].estimate
    assert found.planned[0].n_cells == 100 + 40


def test_shifts_in_per_cent_and_shifts_that_change_nothing(result):
    found = sensitivity(result, mean("income"), "income=-20..0:20 percent")
    here = result.cells.positions == INCOME
    lost = 0.2 * result.cells.draws[:, here].mean() * here.sum() / N
    assert found.points[0].estimate == pytest.approx(found.reference.estimate - lost)
    assert found.warnings == ()
    idle = sensitivity(result, mean("income"), "health=-1..1:1")
    assert "not part of the analysis" in idle.warnings[0]


def test_numbers_stay_within_the_observed_range_if_asked(result):
    top = np.nanmax(result.table.values[:, INCOME])
    for within, limit in [(True, top), (False, np.inf)]:
        planned = plan_shift(result, Shift(("income",), 9, 9), within_range=within)
        draws = shifted_result(result, [planned], [9.0]).cells.draws
        largest = draws[:, result.cells.positions == INCOME].max()
        assert largest == limit if within else largest > top
        assert bool(planned.notes) is not within
    here = result.cells.positions == INCOME
    shifted = result.cells.draws[:, here] - 1
    outside = ((shifted < np.nanmin(result.table.values[:, INCOME])) | (shifted > top)).mean()
    (note,) = plan_shift(result, Shift(("income",), -1, 0, unit="units")).notes
    assert note.startswith(f"Shifted by -1, {100 * outside:.1f} % of these answers to income")


@given(st.floats(-3, 3))
@settings(max_examples=30, deadline=None)
def test_levels_move_by_delta_on_average_and_stay_inside(result, delta):
    planned = plan_shift(result, Shift(("health",), delta, delta))
    assert planned.shift.unit == "levels"
    here = result.cells.positions == HEALTH
    before = result.cells.draws[:, here]
    after = shifted_result(result, [planned], [delta]).cells.draws[:, here]
    steps = np.clip(before + np.floor(delta), 0, 4), np.clip(before + np.ceil(delta), 0, 4)
    assert ((after == steps[0]) | (after == steps[1])).all()
    if abs(delta) <= 1:
        inner = (before >= 1) & (before <= 3)
        assert (after - before)[inner].mean() == pytest.approx(delta, abs=0.08)


def test_tilted_shares_have_the_closed_form():
    """Known probabilities that differ between cells: each odds times exp(delta)."""
    generator = np.random.default_rng(3)
    p = generator.beta(1.2, 2.5, 4000)
    for m, tolerance in [(20, 0.006), (5, 0.01)]:
        drawn = (generator.random((m, p.size)) < p).astype(float)
        known = LevelProbabilities.of_draws(drawn, 2, np.random.default_rng(1))
        keep, choose = generator.random(drawn.shape), generator.random(drawn.shape)
        for delta in (-1.5, -0.5, 0.5, 1.5):
            found = known.replaced(drawn, np.array([0.0, 1.0]), delta, keep, choose).mean()
            odds = p * np.exp(delta)
            assert found == pytest.approx((odds / (1 - p + odds)).mean(), abs=tolerance)


def test_tilted_ordinals_have_the_closed_form():
    generator = np.random.default_rng(5)
    p = generator.dirichlet([1.0, 2.0, 1.5], 4000)
    drawn = np.array(
        [(generator.random((4000, 1)) > p.cumsum(axis=1)).sum(axis=1) for _ in range(20)]
    )
    drawn = drawn.astype(float)
    known = LevelProbabilities.of_draws(drawn, 3, np.random.default_rng(1))
    keep, choose = generator.random(drawn.shape), generator.random(drawn.shape)
    found = known.replaced(drawn, np.arange(3.0), 0.8, keep, choose)
    tilted = p * np.exp(0.8 * np.arange(3))
    tilted = (tilted / tilted.sum(axis=1, keepdims=True)).mean(axis=0)
    shares = [(found == level).mean() for level in range(3)]
    np.testing.assert_allclose(shares, tilted, atol=0.008)


def test_many_patterns_have_fewer_points_and_the_same_mean(monkeypatch):
    generator = np.random.default_rng(7)
    p = generator.dirichlet(np.ones(4), 8000)
    below = [generator.random((8000, 1)) > p.cumsum(axis=1) for _ in range(6)]
    drawn = np.array([one.sum(axis=1) for one in below]).astype(float)
    monkeypatch.setattr("tabsoda.analysis.tilting._MOST_NUMBERS", 1000)
    known = LevelProbabilities.of_draws(drawn, 4, np.random.default_rng(1))
    assert len(known.points) == 8
    keep, choose = generator.random(drawn.shape), generator.random(drawn.shape)
    last = (np.arange(4) == 3).astype(float)
    found = (known.replaced(drawn, last, 1.0, keep, choose) == 3).mean()
    odds = p[:, 3] * np.e
    assert found == pytest.approx((odds / (1 - p[:, 3] + odds)).mean(), abs=0.01)


def test_the_concentration_is_that_of_the_cells():
    generator = np.random.default_rng(6)
    for wanted in (0.5, 4.0):
        p = generator.dirichlet([0.2 * wanted, 0.5 * wanted, 0.3 * wanted], 20_000)
        counts = np.array([generator.multinomial(10, one) for one in p], dtype=float)
        assert concentration(counts) == pytest.approx(wanted, rel=0.06)


def test_odds_of_a_level_move_and_nothing_else_does(result):
    planned = plan_shift(result, Shift(("party",), -2, 2, level="right"))
    here = result.cells.positions == PARTY
    before = result.cells.draws[:, here]
    shares = []
    for delta in (-2.0, -1.0, 0.0, 1.0, 2.0):
        draws = shifted_result(result, [planned], [delta]).cells.draws
        np.testing.assert_array_equal(draws[:, ~here], result.cells.draws[:, ~here])
        shares.append((draws[:, here] == 1).mean())
        moved = draws[:, here] != before
        # Towards "right" at positive shifts, away from it at negative ones.
        assert (draws[:, here][moved] == 1).all() if delta > 0 else (before[moved] == 1).all()
    odds = [share / (1 - share) for share in shares]
    np.testing.assert_allclose(np.log(np.array(odds) / odds[2]), [-2, -1, 0, 1, 2], atol=0.2)
    assert shares[2] == (before == 1).mean()


def test_shifts_do_not_depend_on_the_order_of_rows(result):
    order = np.random.default_rng(2).permutation(N)
    table = result.table.rows(order)
    place = np.argsort(order)
    cells = ImputedCells(
        place[result.cells.rows],
        result.cells.positions,
        result.cells.draws,
        result.cells.mode,
        result.cells.median,
    )
    other = Imputations(table, cells)
    for shift in (Shift(("party",), 1, 1, level="left"), Shift(("health",), 0.5, 0.5)):
        found = [
            shifted_result(one, [plan_shift(one, shift)], [shift.low]).cells.draws
            for one in (result, other)
        ]
        np.testing.assert_array_equal(*found)


def test_a_gate_moves_with_its_followers(result):
    planned = plan_shift(result, Shift(("smokes",), -2, 2, level="Yes"))
    assert planned.whole_rows
    gate, follower = (
        np.flatnonzero(result.cells.positions == position) for position in (SMOKES, CIGARETTES)
    )
    shares = []
    for delta in (-2.0, 0.0, 2.0):
        draws = shifted_result(result, [planned], [delta]).cells.draws
        smokes, cigarettes = draws[:, gate], draws[:, follower]
        # Of the 50, the first 40 have a follower; it is skipped exactly where the gate is "No".
        np.testing.assert_array_equal(np.isnan(cigarettes), smokes[:, :40] == 1)
        assert (smokes[:, 40:] == 0).all()
        seen = {(c, v) for c in range(40) for v in result.cells.draws[:, follower[c]]}
        assert all((c, v) in seen or np.isnan(v) for c in range(40) for v in cigarettes[:, c])
        shares.append((smokes[:, :40] == 0).mean())
    assert shares[0] < 0.2 < 0.45 < shares[1] < 0.55 < 0.8 < shares[2]


def test_rules_name_gates_that_the_skips_do_not_show(result):
    condition = Condition("health", levels=(1,))
    rule = SkipRule("r1", "party", ((condition,),), status=RuleStatus.APPROVED)
    gates = find_gates(result, RuleSet((rule,), result.table.columns))
    assert not plan_shift(result, Shift(("health",), 1, 1)).whole_rows
    assert plan_shift(result, Shift(("health",), 1, 1), gates=gates).whole_rows
    with pytest.raises(
        InputError, match=r"'health' decides who is asked other questions.*in levels"
    ):
        plan_shift(result, Shift(("health",), 1, 1, unit="levels"), gates=gates)


def test_a_number_that_only_goes_with_skips_is_not_a_gate():
    """The lowest incomes are those of people without a job, who are not asked for its hours."""
    generator = np.random.default_rng(0)
    works = generator.random(N) < 0.7
    income = np.where(works, generator.uniform(20, 90, N), generator.uniform(0, 15, N))
    hours = np.where(works, generator.uniform(5, 50, N), np.nan)
    columns = (
        Column("works", ColumnKind.NOMINAL, (1, 2)),
        Column("income", ColumnKind.CONTINUOUS),
        Column("hours", ColumnKind.CONTINUOUS),
    )
    values = np.column_stack([np.where(works, 0.0, 1.0), income, hours])
    table = CodedTable.from_values(columns, values, np.isnan(values))
    assert find_followers(table)[1, 2]
    nothing = np.empty(0)
    cells = ImputedCells(
        nothing.astype(int), nothing.astype(int), np.empty((2, 0)), nothing, nothing.copy()
    )
    result = Imputations(table, cells)
    assert find_gates(result).tolist() == [True, False, False]
    by_income = SkipRule("r1", "hours", ((Condition("income", up_to=15),),))
    assert find_gates(result, RuleSet((by_income,), columns)).tolist() == [False, True, False]


def test_the_tipping_point_is_where_the_interval_crosses_the_null(result):
    start = pooled_mean(result, "income", design=None)
    null = start.intervals()[0, 0] - 1.0

    def end(delta):
        moved = result.cells.draws + delta * observed_sd(result) * (
            result.cells.positions == INCOME
        )
        cells = ImputedCells(
            result.cells.rows, result.cells.positions, moved, moved[0].copy(), moved[0].copy()
        )
        shifted = Imputations(result.table, cells)
        return pooled_mean(shifted, "income").intervals()[0, 0] - null

    expected = optimize.brentq(end, -1, 0)
    found = sensitivity(result, mean("income"), "income=-1..1", null=null)
    assert found.reference.finding == "above"
    (tip,) = found.tipping
    assert tip.delta == pytest.approx(expected, abs=1e-5)
    assert tip.outer < tip.delta < tip.inner
    assert tip.inner - tip.outer == pytest.approx(0.25 / 64)
    assert tip.finding == "includes"
    assert f"lower by {-expected:.3g} standard deviations" in found.sentence()
    assert f"{null:.3g}" in str(found)
    high = sensitivity(result, mean("income"), "income=0..1", null=null)
    assert high.tipping == ()
    assert "does not change within this range" in high.sentence()


def test_findings_of_a_model_and_their_words(few):
    found = sensitivity(
        few, "income ~ sex + age", "income where sex == 2=-3..3:1.5", term="sex[T.2]", design=None
    )
    assert found.term == "sex: 2 (vs 1)"
    assert [point.finding for point in found.points] == [
        "below",
        "below",
        "includes",
        "above",
        "above",
    ]
    assert [tip.finding for tip in found.tipping] == ["below", "above"]
    assert found.tipping[0].delta < 0 < found.tipping[1].delta
    same = sensitivity(few, "income ~ sex + age", "income=0", design=None)
    expected = pooled_model(few, "income ~ sex + age", design=None)
    assert same.points[0].estimate == expected.estimates[1]
    assert same.points[0].p_value == expected.p_values[1]
    table = found.table()
    assert table.columns[0] == "income where sex == 2"
    assert table["finding"].to_list()[2] == "includes"
    content = found.to_dict()
    assert json.loads(json.dumps(content))["tipping_points"][0]["finding"] == "below"
    assert max(map(len, str(found).splitlines())) <= 80


def test_other_shifts_may_change_the_finding_alone(result):
    start = pooled_mean(result, "income", design=None).intervals()[0, 0]
    found = sensitivity(
        result,
        mean("income"),
        ["income:refused=-1..1:1", "income:dont_know=-2..0:2"],
        null=start - 1,
    )
    tips = {tip.others: tip for tip in found.tipping}
    assert tips[(-2.0,)].delta == 0
    assert tips[(0.0,)].delta < 0
    assert "With income:dont_know shifted by -2" in found.sentence()


def test_the_picture_shows_estimates_and_tipping_points(result):
    start = pooled_mean(result, "income", design=None).intervals()[0, 0]
    found = sensitivity(result, mean("income"), "income=-1..1", null=start - 1)
    drawn = ElementTree.fromstring(found.picture())
    space = "{http://www.w3.org/2000/svg}"
    texts = [one.text for one in drawn.iter(f"{space}text")]
    assert f"{found.tipping[0].delta:+.3g}" in texts
    assert texts[0] == "income"
    (line,) = (one for one in drawn.iter(f"{space}path") if one.get("class") == "line")
    ys = [float(pair.split()[1]) for pair in line.get("d")[1:].split("L")]
    # The mean is linear in the shift, and upwards is up.
    np.testing.assert_allclose(np.diff(ys), np.diff(ys)[0], atol=0.02)
    assert ys[0] > ys[-1]
    assert found.picture() in found._repr_html_()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("income", "The shift cannot be read"),
        ("income=", "The shift cannot be read"),
        ("income=low..high", "The shift cannot be read"),
        ("income=1..-1", "range of a shift is invalid"),
        ("income=0..1:-1", "step of a shift is invalid"),
        ("income=0..1:0.001", "at most 200 steps"),
        ("income=0..1 pounds", "Unknown unit of a shift. Found: 'pounds'"),
        ("income:angry=0..1", "Unknown reason.*'angry'.*refused, dont_know, blank, other"),
        ("incom=0..1", "'incom' named in a shift is not in this result. Similar names: income"),
        ("wt=0..1", "'wt' named in a shift is not in this result"),
        ("age=0..1", "'age' has no imputed answers.*none imputed"),
        ("income:blank=0..1", "no imputed answers.*reason: 60 refused, 40 dont_know"),
        ("income where age > 900=0..1", "'income' has no imputed answers that the shift"),
        ("income where aeg > 9=0..1", "'aeg' named in where is not in this result"),
        ("income=0..1 odds", "'income' cannot be shifted in odds.*sd or units or percent"),
        ("health=0..1 sd", "'health' cannot be shifted in sd.*levels or odds"),
        ("party=0..1", r"'party' is nominal.*Write party\[left\]"),
        ("party[centre]=0..1", "'party' does not have the level.*'centre'.*left, right, none"),
        ("income,health=0..1", "need the same unit. Found: income, health in levels and sd"),
        ("health[2]=0..1 levels", "needs the unit odds and not levels"),
    ],
)
def test_shifts_that_are_refused(text, message, result):
    with pytest.raises(InputError, match=message):
        sensitivity(result, mean("income"), text)


def test_other_requests_that_are_refused(result):
    with pytest.raises(InputError, match="There is no shift"):
        sensitivity(result, mean("income"), [])
    with pytest.raises(InputError, match="too many combinations"):
        sensitivity(result, mean("income"), ["income=0..1:0.01", "health=0..1:0.1"])
    with pytest.raises(InputError, match=r"The term is not in the model. Found: 'ages'.*age"):
        sensitivity(result, "income ~ age", "income=0..1", term="ages")


def test_numbers_that_decide_who_is_asked_cannot_be_shifted(result):
    condition = Condition("income", up_to=30.0)
    rule = SkipRule("r1", "party", ((condition,),), status=RuleStatus.APPROVED)
    rules = RuleSet((rule,), result.table.columns)
    with pytest.raises(InputError, match=r"'income' decides who is asked.*Shift its followers"):
        sensitivity(result, mean("income"), "income=-1..1", rules=rules)


@pytest.mark.slow
def test_delta_adjustment_equals_that_of_mice(r, tmp_path):
    """The same imputations by mice, shifted here and, while they are drawn, by mice."""
    generator = np.random.default_rng(5)
    x = np.round(generator.normal(size=150), 6)
    y = np.round(1 + 0.4 * x + generator.normal(size=150), 6)
    y[generator.random(150) < 0.3] = np.nan
    pl.DataFrame({"x": x, "y": y}).fill_nan(None).write_csv(tmp_path / "d.csv", null_value="NA")
    expected = r(
        """
        d <- read.csv("d.csv"); unit <- sd(d$y, na.rm = TRUE)
        run <- function(delta) {
          post <- make.post(d)
          post["y"] <- sprintf("imp[[j]][, i] <- imp[[j]][, i] + %.17g", delta * unit)
          mice(d, m = 10, method = c("", "norm"), post = post, maxit = 1, seed = 7, print = FALSE)
        }
        list(draws = t(as.matrix(run(0)$imp$y)),
             pooled = lapply(c(-1, -0.5, 0, 1.5), function(delta) {
               s <- summary(pool(with(run(delta), lm(y ~ x))))
               list(q = s$estimate, se = s$std.error, df = s$df) }))""",
        "mice",
        folder=tmp_path,
    )
    survey = read_survey(
        pl.DataFrame({"x": x, "y": pl.Series(y).fill_nan(None)}),
        [{"name": name, "type": "continuous"} for name in "xy"],
    )
    rows, positions = np.nonzero(survey.states.missing)
    draws = np.array(expected["draws"], dtype=float)
    cells = ImputedCells(rows, positions, draws, draws[0].copy(), draws[0].copy())
    result = Imputations(survey.table, cells, survey)
    for delta, one in zip((-1, -0.5, 0, 1.5), expected["pooled"], strict=True):
        planned = plan_shift(result, Shift(("y",), delta, delta))
        pooled = pooled_model(shifted_result(result, [planned], [delta]), "y ~ x")
        np.testing.assert_allclose(pooled.estimates, one["q"], rtol=1e-8)
        np.testing.assert_allclose(pooled.std_errors, one["se"], rtol=1e-8)
        np.testing.assert_allclose(pooled.df, one["df"], rtol=1e-8)


@pytest.fixture(scope="module")
def folder(few, tmp_path_factory):
    path = tmp_path_factory.mktemp("sensitivity") / "out"
    few.save(path)
    return path


@pytest.fixture
def run(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words):
        main(["sensitivity", str(folder), *words])
        return capsys.readouterr().out

    return run


def test_the_command(run, few, tmp_path):
    picture = tmp_path / "s.svg"
    words = ["--formula", "income ~ age", "--shift", "income=-1..1:0.5", "-o", str(picture)]
    text = run(*words)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "income ~ age (gaussian)"
    assert lines[1] == "Sensitivity of age"
    assert "Shift: 100 imputed answers of income, in standard deviations" in lines[2]
    assert any(line.startswith("Design from the description: weights wt") for line in lines)
    assert "For the paper:" in lines
    ElementTree.parse(picture)
    with pytest.raises(SystemExit) as ended:
        run(*words[:-1], str(tmp_path / "s.png"))
    assert ended.value.code == 2
    assert not (tmp_path / "s.png").exists()
    found = json.loads(run("--formula", "income ~ age", "--shift", "income=-1..1:0.5", "--json"))
    expected = sensitivity(few, "income ~ age", "income=-1..1:0.5")
    assert found["points"] == expected.to_dict()["points"]
    assert found["formula"] == "income ~ age"


def test_the_command_on_means_and_shares(run, few):
    found = json.loads(
        run("--mean", "income", "--null", "30", "--no-design", "--shift", "income=0..1:1", "--json")
    )
    expected = sensitivity(few, mean("income"), "income=0..1:1", null=30.0)
    assert found["points"] == expected.to_dict()["points"]
    text = run("--share", "smokes:1", "--null", "0.5", "--shift", "smokes[Yes]=-2..2:2")
    assert "Sensitivity of smokes: 1 'Yes'" in text
    shares = pooled_proportions(few, "smokes")
    assert f"{100 * shares.estimates[0]:.1f} %" in text
    assert "all imputed answers of a respondent" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--shift", "income=-1..1"], "about one estimate"),
        (["--mean", "age", "--formula", "income ~ age", "--shift", "income=0"], "2 estimates"),
        (["--share", "smokes", "--shift", "income=0"], "a question, a colon and an answer"),
        (["--mean", "income", "--shift", "income=x"], "The shift cannot be read"),
        (["--mean", "income"], "shift"),
        (["--mean", "income", "--shift", "income=0", "-o", "."], "is a folder"),
    ],
)
def test_what_the_command_refuses(words, message, folder, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["sensitivity", str(folder), *words])
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert message in " ".join((printed.err + printed.out).split())
